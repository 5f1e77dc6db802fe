# Completion of tminus for PowerShell. In $PROFILE: tminus completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName tminus -ScriptBlock {
    param($word, $ast, $position)
    $words = @($ast.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { $_.ToString() })
    $env:_TMINUS_COMPLETE = 'powershell'
    $env:_TMINUS_WORD = $word
    try {
        & $words[0] @($words | Select-Object -Skip 1) 2>$null | ForEach-Object {
            $text, $meaning = $_ -split "`t", 2
            if (-not $meaning) { $meaning = $text }
            [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $meaning)
        }
    }
    finally {
        Remove-Item Env:_TMINUS_COMPLETE, Env:_TMINUS_WORD -ErrorAction SilentlyContinue
    }
}
