# Completion of tminus for fish. In ~/.config/fish/config.fish: tminus completion fish | source
function __tminus_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (_TMINUS_COMPLETE=fish _TMINUS_WORD=$current $words[1] $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path $current
    end
end
complete -c tminus -f -a '(__tminus_complete)'
