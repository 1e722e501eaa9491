# fish completion for tlnmf and tlnmf-mpi. The program answers: a word, a tab and its help per line,
# or ":files EXTENSION..." or ":folders", for which the shell completes names.
function __tlnmf_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l program (string replace -r -- '-mpi$' '' $words[1] | string replace -r -- '^~' $HOME)
    set -e words[1]
    for line in ($program --complete $words "$token" 2>/dev/null)
        switch $line
            case ':files*' :folders
                set -l before (string match -r -- '^--[^=]+=' "$token")
                set -l paths (complete -C "'' "(string replace -- "$before" '' "$token"))
                set -l extensions (string split -n ' ' -- $line)[2..]
                set -l fitting (string match -ri -- '.*(?:/|\.(?:'(string join '|' -- - $extensions)'))$' $paths)
                if test "$line" = :files; or not set -q fitting[1]
                    set fitting $paths # any name
                end
                printf '%s\n' "$before"$fitting
            case '*'
                echo $line
        end
    end
end
complete -c tlnmf -f -a '(__tlnmf_complete)'
complete -c tlnmf-mpi -f -a '(__tlnmf_complete)'
