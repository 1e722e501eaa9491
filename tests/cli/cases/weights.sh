# Weights of frames, masks of entries, missing frames.
npy y.npy "(2, 2, 4)" 1 2 3 4  0.5 -1 2 -3  2 1 -1 3  1 1 0.5 2
npy copies.npy "(2, 2, 6)" 1 2 2 3 3 4  0.5 -1 -1 2 2 -3  2 1 1 -1 -1 3  1 1 1 0.5 0.5 2
npy twice.npy "(4,)" 1 2 2 1
npy none.npy "(4,)" 1 0 2 1
npy mask.npy "(2, 4)" 1 1 0 1  1 0.5 1 1
npy turned.npy "(4, 2)" 1 1 1 1 1 1 1 1
npy empty.npy "(2, 4)" 1 1 1 1  0 0 0 0
fit="--eps 0.1 --seed 1 --json --force"
for method in tl jd nmf; do
    for solver in fast paper; do
        expect 0 ... "" tlnmf fit y.npy -k 1 --method $method --solver $solver --weights twice.npy $fit
        check "the weights are in the summary" grep -q '"weights": "twice.npy"' "$out"
        C=$(json C)
        expect 0 ... "" tlnmf fit copies.npy -k 1 --method $method --solver $solver $fit
        near "a weight of 2 is two copies ($method, $solver)" "$(awk -v C="$C" 'BEGIN { print C / 4 }')" \
            "$(awk -v C="$(json C)" 'BEGIN { print C / 6 }')" 1e-5
    done
done
expect 0 ... "" tlnmf fit y.npy -k 1 --weights none.npy $fit -o none.h5
expect 0 ... "tlnmf apply: warning: the model was fitted with --weights none.npy, but is applied without it" \
    tlnmf apply none.h5 y.npy --json -o all.h5
check "apply gives every frame an H" [ "$(json own_data)" = false ]
check "and no verdict" [ "$(json fits)" = "cannot tell: the model's own data were read with other options" ]
# With the weights, H is that of the fit, for all methods and for covariances.
npy covs.npy "(4, 2, 2)" 2.5 -0.25 -0.25 0.625  2.5 0.5 0.5 1  5 2.75 2.75 2.125  12.5 3 3 6.5
for method in tl jd nmf; do
    tlnmf fit y.npy -k 1 --method $method --weights none.npy --eps 0.1 -o w.h5 --json --force >fit.json
    expect 0 ... "" tlnmf apply w.h5 y.npy --weights none.npy --json -o again.h5 --force
    check "$method: its own data" [ "$(json own_data) $(json fits)" = "true these are its own data" ]
    check "$method: in the summary" grep -q '"weights": "none.npy"' "$out"
    near "$method: C" "$(json C)" "$(json C fit.json)" 1e-12
    expect 0 ... "" tlnmf fit y.npy --init w.h5 --keep phi,w --weights none.npy --json -o kept.h5 --force
    check "$method: --keep phi,w also uses the weights" [ "$(json own_data)" = true ]
    tlnmf fit covs.npy -k 1 --method $method --weights none.npy --eps 0.1 -q -o w.h5 --force >/dev/null
    expect 0 ... "" tlnmf apply w.h5 covs.npy -q --weights none.npy --json -o again.h5 --force
    check "$method: of covariances" [ "$(json own_data)" = true ]
done
input apply "turned.npy: shape (4, 2), but weights must be (4,)" none.h5 y.npy --weights turned.npy -o x.h5
npy minus.npy "(4,)" 1 -1 2 1
input apply "minus.npy: the weight of frame 1 is -1: weights must be finite and not negative" none.h5 y.npy --weights minus.npy -o x.h5
npy zeros.npy "(4,)" 0 0 0 0
input apply "zeros.npy: the weights of the frames have the mean 0: it must be positive and finite" none.h5 y.npy --weights zeros.npy -o x.h5
usage apply "--weights is for arrays, but x.wav is a sound" none.h5 x.wav --weights none.npy
usage apply "--mask is for arrays, but x.wav is a sound" none.h5 x.wav --mask mask.npy
input fit "turned.npy: shape (4, 2), but weights must be (4,)" y.npy -k 1 --weights turned.npy --force
npy twice.h5 "(4,)" 1 2 2 1
usage apply "twice.h5: this output would replace an input" none.h5 y.npy --weights twice.h5 -o twice.h5 --force
usage apply "twice.h5: this output would replace an input" none.h5 y.npy --mask twice.h5 -o twice.h5 --force
usage fit "twice.h5: this output would replace an input" y.npy -k 1 --weights twice.h5 -o twice.h5 --force

# Masks: for a fixed transform.
expect 0 ... "" tlnmf fit y.npy -k 1 --method nmf --transform identity --mask mask.npy $fit
check "the mask is in the summary" grep -q '"mask": "mask.npy"' "$out"
C=$(json C)
tlnmf fit y.npy -k 1 --method nmf --transform identity --mask mask.npy --eps 0.1 -o masked.h5 >/dev/null
expect 0 ... "tlnmf apply: warning: the model was fitted with --mask mask.npy, but is applied without it" \
    tlnmf apply masked.h5 y.npy -o all.h5 --force
expect 0 ... "" tlnmf apply masked.h5 y.npy --mask mask.npy --json -o again.h5 --force
check "with it: its own data" [ "$(json own_data)" = true ]
near "C" "$(json C)" "$C" 1e-12
near "entries that count" "$(json entries)" 6.5 0
expect 0 ... "tlnmf apply: warning: the model was fitted with --mask mask.npy, but is applied without it" \
    tlnmf apply masked.h5 y.npy --weights none.npy -o all.h5 --force
input apply "turned.npy: shape (4, 2), but the mask must be (2, 4)" masked.h5 y.npy --mask turned.npy -o x.h5
npy less.npy "(2, 4)" 1 1 0 1  1 -0.5 1 1
input apply "less.npy: the mask of row 1, frame 1 is -0.5: it must be finite and not negative" masked.h5 y.npy --mask less.npy -o x.h5
npy nothing.npy "(2, 4)" 0 0 0 0  0 0 0 0
input apply "nothing.npy: the mask sums to 0: it must be positive and finite" masked.h5 y.npy --mask nothing.npy -o x.h5
npy hidden.npy "(2, 2, 4)" 1 2 99 4  0.5 -1 2 -3  2 1 77 3  1 1 0.5 2
expect 0 ... "" tlnmf fit hidden.npy -k 1 --method nmf --transform identity --mask mask.npy $fit
near "masked entries have no effect" "$(json C)" "$C" 1e-9
expect 2 "" "tlnmf fit: a mask requires method nmf: if Phi is learnt, its rows do not correspond to those of the mask" \
    tlnmf fit y.npy -k 1 --method tl --mask mask.npy --force
input fit "turned.npy: shape (4, 2), but the mask must be (2, 4)" y.npy -k 1 --method nmf --mask turned.npy --force
nothing="entry 1 of the frames of V has no data: it is missing or masked in all of them. Omit the entry or change the mask"
input fit "$nothing" y.npy -k 1 --method nmf --mask empty.npy --force
npy bins.npy "(2, 4)" 1 2 3 4  nan nan nan nan
expect 3 "" "tlnmf fit: bins.npy: 4 of 8 powers are missing
tlnmf fit: $nothing" tlnmf fit bins.npy -k 1 --input power --missing --force

# Missing frames
npy gaps.npy "(2, 2, 4)" 1 nan 3 4  0.5 -1 2 -3  2 1 -1 3  1 1 0.5 nan
input fit "gaps.npy: realisation 0, row 0, frame 1 is not finite (nan); --missing skips frames that have a NaN" \
    gaps.npy -k 1 --force
expect 0 ... "tlnmf fit: gaps.npy: 2 of 8 frames are missing" tlnmf fit gaps.npy -k 1 --missing $fit -o gaps.h5
check "in the summary" grep -q '"missing": 2' "$out"
tlnmf fit gaps.npy -k 1 --missing --eps 0.1 --seed 1 --no-model >"$out" 2>/dev/null
check "in the text" grep -q 'gaps.npy: 4 frames of length 2, 2 realisations, 2 frames missing (' "$out"
npy holes.npy "(2, 4)" 1 nan 3 4  5 6 7 nan
expect 0 ... "tlnmf fit: holes.npy: 2 of 8 powers are missing" tlnmf fit holes.npy -k 1 --input power --missing $fit
check "missing powers in the summary" grep -q '"missing": 2' "$out"
tlnmf fit holes.npy -k 1 --input power --missing --no-model >"$out" 2>/dev/null
check "and in the text" grep -q 'degrees of freedom, 2 powers missing or masked (' "$out"
expect 0 ... "tlnmf apply: gaps.npy: 2 of 8 frames are missing" tlnmf apply gaps.h5 gaps.npy --missing --json -o again.h5 --force
check "its own data" [ "$(json own_data)" = true ]
expect 0 ... "tlnmf jd: gaps.npy: 2 of 8 frames are missing" tlnmf jd gaps.npy --missing $fit
usage fit "--missing and --block are mutually exclusive" gaps.npy -k 1 --missing --block 2 --force
npy covs.npy "(2, 2, 2)" 2 1 1 2 5 -3 -3 5
usage fit "--missing requires data, but covs.npy has covariances" covs.npy -k 1 --missing --force
