# Completion of tminus for bash. In ~/.bashrc: source <(tminus completion bash)
_tminus() {
    local IFS=$'\n' program="${COMP_WORDS[0]/#\~/$HOME}"
    COMPREPLY=($(_TMINUS_COMPLETE=bash _TMINUS_WORD="${COMP_WORDS[COMP_CWORD]}" \
        "$program" "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null))
}
complete -o bashdefault -o default -F _tminus tminus
