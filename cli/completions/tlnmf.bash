# bash completion for tlnmf and tlnmf-mpi. The program answers: a word, a tab and its help per line,
# or ":files EXTENSION..." or ":folders", for which the shell completes names.
[ "${BASH_VERSINFO[0]}" -ge 4 ] || return 0

_tlnmf() {
    local program=${1/#\~/$HOME} current=${COMP_WORDS[COMP_CWORD]} line extension
    [ "$current" != = ] || current= # of --name=value, which bash divides
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :folders)
            compopt -o filenames -o dirnames
            ;;
        :files*)
            compopt -o filenames -o default # if COMPREPLY stays empty, readline completes any name
            case $current in
            *[\\\"\'~$]*) return ;;
            esac
            for extension in ${line#:files}; do
                mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
                    compgen -f -X "!*.$extension" -- "$current"
                    compgen -f -X "!*.${extension^^}" -- "$current"
                )
            done
            [ "$line" = :files ] ||
                mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$current")
            ;;
        *)
            COMPREPLY+=("${line%%$'\t'*}")
            ;;
        esac
    done < <("${program%-mpi}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _tlnmf tlnmf tlnmf-mpi
