# The same seed gives the same bytes, at any number of threads.
tlnmf simulate gcm --s 3 --m 12 --n 20 -o y.npy

for n in 1 2; do # the name of the model is in the model
    expect 0 ... "" tlnmf fit y.npy -k 3 -J 20 --seed 5 --trace -o same.h5
    mv same.h5 $n.h5
done
check "the same model twice" cmp 1.h5 2.h5
expect 0 ... "" tlnmf fit y.npy -k 3 -J 20 --seed 6 --trace -o same.h5
check "another seed, another model" eval '! cmp -s 1.h5 same.h5'

for method in tl jd; do
    for threads in 1 2; do
        expect 0 ... "" tlnmf fit y.npy -k 3 -J 20 --seed 5 --starts 4 --method $method \
            --threads $threads --trace --json -o threads.h5 --force
        sed '/"threads"/d; /"repeat"/d' "$out" >$threads.json
    done
    check "$method: every number of the JSON, 1 thread and 2" diff 1.json 2.json
    check "$method: four starts" [ "$(json starts)" = 4 ]
done
