#compdef tminus
# Completion of tminus for zsh. In ~/.zshrc, behind compinit: source <(tminus completion zsh)
_tminus() {
    local -a found
    found=("${(@f)$(_TMINUS_COMPLETE=zsh _TMINUS_WORD="${words[CURRENT]}" \
        "${(Q)words[1]/#\~/$HOME}" "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        _describe -t commands tminus found
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == "_tminus" ]]; then
    _tminus "$@"
else
    compdef _tminus tminus
fi
