# Starting from a saved model (--init), and keeping parts of it (--keep).
tlnmf simulate gcm -s 20 --seed-data 1 -o a.npy
tlnmf simulate gcm -s 20 --seed-data 2 -o b.npy
tlnmf simulate gcm -s 20 --seed-data 2 -n 30 -o fewer.npy
tlnmf simulate gcm -s 20 -m 8 -o short.npy
tlnmf fit a.npy -k 3 --eps 1e-6 --method tl -o a.h5 --json >a.json
tlnmf fit a.npy -k 3 --eps 1e-6 --method tl -J 20 -o early.mat --json >early.json

# A fit that starts from its own result stays there; from an early result it continues and improves.
expect 0 ... "tlnmf fit: a.h5: starts from Phi, W and H" tlnmf fit a.npy --init a.h5 --no-model --json
near "C stays" "$(json C)" "$(json C a.json)" 1e-9
check "k is the model's" [ "$(json k)" = 3 ]
check "eps is the model's" [ "$(json eps) $(json eps_from)" = "$(json eps a.json) model" ]
check "the method is the model's" [ "$(json method)" = tl ]
check "the summary names the model" [ "$(json init)" = a.h5 ]
expect 0 ... "" tlnmf fit a.npy --init a.h5 --no-model -q
check "the text says where eps comes from" grep -Fxq "                from a.h5; --eps sets another" "$out"
check "and not that eps was not given" [ "$(grep -c "it was not given" "$out")" -eq 0 ]
expect 0 ... "" tlnmf fit a.npy --init a.h5 --eps 1e-3 --no-model -q --json
check "eps as given" [ "$(json eps) $(json eps_from)" = "0.001 given" ]
expect 0 ... "" tlnmf fit a.npy -k 3 -J 5 --no-model -q --json
check "eps by default" [ "$(json eps_from)" = default ]
expect 0 ... "" tlnmf fit a.npy -k 3 -J 5 --eps-rel 0.1 --no-model -q --json
check "eps as a share" [ "$(json eps_from)" = "given share" ]
expect 0 ... "tlnmf fit: early.mat: starts from Phi, W and H" \
    tlnmf fit a.npy --init early.mat --no-model --json
check "C falls" awk -v a="$(json C)" -v b="$(json C early.json)" 'BEGIN { exit !(a < b) }'
expect 0 ... "tlnmf fit: a.h5: starts from Phi, W; H has another number of frames" \
    tlnmf fit fewer.npy --init a.h5 --no-model
expect 0 ... "tlnmf fit: a.h5: starts from Phi; W and H have another K" \
    tlnmf fit b.npy --init a.h5 -k 4 --no-model --json
check "k as given" [ "$(json k)" = 4 ]

# A transform alone has no W and H; a transform of whitened data is refused.
tlnmf jd a.npy --input data -o phi.h5 >/dev/null
expect 0 ... "tlnmf fit: phi.h5: keeps Phi; it has no W and H" \
    tlnmf fit a.npy -k 3 --init phi.h5 --keep phi --no-model
for end in h5 npz mat; do
    tlnmf jd a.npy --input data --whiten -o white.$end >/dev/null
    input fit "white.$end: its Phi is for whitened data (jd --whiten), which fit does not support" \
        a.npy -k 3 --init white.$end --keep phi --no-model
    for name in Phi /Phi; do
        [ $end = h5 ] || [ $name = Phi ] || continue
        input fit "white.$end:$name: this Phi is for whitened data (jd --whiten); these data are not whitened" \
            a.npy -k 3 --init-phi white.$end:$name --no-model
        input fit "white.$end:$name: this Phi is for whitened data (jd --whiten); these data are not whitened" \
            a.npy -k 3 --method nmf --transform white.$end:$name --no-model
        input jd "white.$end:$name: this Phi is for whitened data (jd --whiten); these data are not whitened" \
            a.npy --input data --init-phi white.$end:$name -o x.h5
        expect 0 ... "" tlnmf jd a.npy --input data --whiten --init-phi white.$end:$name -o again.h5 --force
    done
done

# --keep phi: Phi is unchanged; the result is the same as with --method nmf at this Phi.
expect 0 ... "tlnmf fit: a.h5: keeps Phi, starts from W and H" \
    tlnmf fit b.npy --init a.h5 --keep phi -o kept.npz --json
keep=$(json C)
check "Phi was not learnt" [ "$(json method)" = nmf ]
tlnmf fit a.npy --init a.h5 --keep phi -o again.npz -q >/dev/null
check "Phi is the model's" cmp <(head -c 900 kept.npz | tail -c 800) <(head -c 900 again.npz | tail -c 800)
expect 0 ... "" tlnmf fit b.npy -k 3 --eps 1e-6 --method nmf --init-phi a.h5:/Phi --init-w a.h5:/W \
    --init-h a.h5:/H --no-model --json
near "the same as nmf" "$(json C)" "$keep" 1e-12
expect 0 ... "" tlnmf fit b.npy -k 3 --keep phi --transform dct --no-model --json
check "a fixed transform is also kept" [ "$(json method)" = nmf ]

# --keep phi,w: the same as apply.
expect 0 ... "" tlnmf fit b.npy --init a.h5 --keep phi,w -o h.h5 --json
both=$(json C)
expect 0 ... "" tlnmf fit b.npy --init a.h5 --keep phi,w -o wphi.h5 --json
check "in either order" [ "$(json C)" = "$both" ]
expect 0 ... "" tlnmf apply a.h5 b.npy -o applied.h5 --json
check "the same as apply" [ "$(json C)" = "$both" ]
check "keeping more cannot be better" awk -v a="$keep" -v b="$both" 'BEGIN { exit !(a <= b + 1e-6) }'

input fit "a.h5: the model has frames of length 10, the data have frames of length 8" short.npy --init a.h5 --no-model
usage fit "--keep phi,w requires --init" a.npy -k 3 --keep phi,w
usage fit "--keep phi requires --init, --init-phi or --transform" a.npy -k 3 --keep phi
usage fit "keep = w is not one of phi|phi,w" a.npy --init a.h5 --keep w
usage fit "--keep phi contradicts --method tl, which learns Phi" a.npy --init a.h5 --keep phi --method tl
usage fit "--keep phi,w contradicts --method jd, which learns Phi" a.npy --init a.h5 --keep phi,w --method jd
usage fit "--keep phi,w fits H only: it cannot be combined with --starts" \
    a.npy --init a.h5 --keep phi,w --starts 3
usage fit "--keep phi,w: k must be 3, as in the model" b.npy --init a.h5 --keep phi,w -k 4 --no-model
usage fit "--init is mutually exclusive with --init-phi, --init-w, --init-h and --transform" \
    a.npy --init a.h5 --init-w w.npy
usage fit "a.h5: this output would replace an input" a.npy --init a.h5 -o a.h5 --force
input fit "a.npy: not a model, which is an .h5, .mat or .npz file" a.npy --init a.npy --no-model
