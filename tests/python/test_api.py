"""The functions of the package: results compared with numpy, options, errors, callbacks, pickling."""
import copy
import inspect
import math
import pickle
import re
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

import tlnmf

Y = np.array(tlnmf.simulate.gcm(s=4, m=7, n=30, kbar=3).Y)


def convergence():
    """The class of warnings about convergence: the one of scikit-learn if it is loaded."""
    loaded = sys.modules.get("sklearn.exceptions")
    return getattr(loaded, "ConvergenceWarning", tlnmf.ConvergenceWarning)


def objective(Y, Phi, W, H, eps):
    """C of (2), in plain loops."""
    V = sum((Phi @ y) ** 2 for y in Y) / len(Y) + eps
    R = W @ H + eps
    return sum(v / r + math.log(r) for v, r in zip(V.ravel(), R.ravel()))


class Reports(unittest.TestCase):
    def test_a_page_is_written_and_shown(self):
        m = tlnmf.fit(Y, 2, trace=True)
        V = tlnmf.apply(m, Y, keep_v=True).V
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            page = m.report(path, V, title="<b>notes</b>", rate=5000, atoms=3)
            self.assertEqual(path.read_text(encoding="utf-8"), page.html)
        self.assertIn("<title>&lt;b&gt;notes&lt;/b&gt;</title>", page.html)
        self.assertIn("The 3 strongest of 7 atoms", page.html)
        self.assertIn('"V":{"type":"u8"', page.html)
        shown = m.report()._repr_html_()
        self.assertTrue(shown.startswith("<iframe srcdoc=") and "<script" not in shown)

    def test_bad_pages(self):
        m = tlnmf.fit(Y, 2)
        with self.assertRaisesRegex(ValueError, "atoms = 0 is outside"):
            m.report(atoms=0)
        with self.assertRaises(OSError):
            m.report("/nowhere/page.html")
        with self.assertRaises(TypeError):
            m.report(nonsense=1)


class Results(unittest.TestCase):
    def test_values_match_the_arrays(self):
        m = tlnmf.fit(Y, 3, method="tl")
        self.assertAlmostEqual(m.C, objective(Y, m.Phi, m.W, m.H, m.eps), delta=1e-8)
        np.testing.assert_allclose(m.Phi @ m.Phi.T, np.eye(7), atol=1e-12)
        values = tlnmf.evaluate(Y, m)
        self.assertAlmostEqual(values.C, m.C, delta=1e-8)

    def test_shapes(self):
        one = tlnmf.fit(Y[0], 2)
        self.assertEqual((one.M, one.N, one.K), (7, 30, 2))
        np.testing.assert_array_equal(one.Phi, tlnmf.fit(Y[:1], 2).Phi)
        C = np.einsum("smn,skn->nmk", Y, Y) / len(Y)
        a, b = tlnmf.fit(covariances=C, k=2, method="jd"), tlnmf.fit(Y, 2, method="jd")
        self.assertAlmostEqual(a.L, b.L, delta=1e-6)

    def test_data_are_used_again(self):
        data = tlnmf.Data(Y)
        np.testing.assert_array_equal(tlnmf.fit(data, 2).H, tlnmf.fit(Y, 2).H)
        self.assertEqual(tlnmf.Data(Y, block=3).N, 10)
        self.assertEqual(tlnmf.Data(Y, moving=3).N, 30)

    def test_weights_mask_and_missing(self):
        w = np.arange(30) % 3 + 0.5
        m = tlnmf.fit(Y, 2, method="tl", weights=w)
        V = np.mean((m.Phi @ Y) ** 2, axis=0) + m.eps
        R = m.W @ m.H + m.eps
        self.assertAlmostEqual(m.C, np.sum(w / w.mean() * (V / R + np.log(R))), delta=1e-8)
        mask = (np.arange(7 * 30).reshape(7, 30) % 4 > 0).astype(float)
        m = tlnmf.fit(tlnmf.Data(Y, mask=mask), 2, method="nmf")
        V = np.mean((m.Phi @ Y) ** 2, axis=0) + m.eps
        R = m.W @ m.H + m.eps
        self.assertAlmostEqual(m.C, np.sum(mask * (V / R + np.log(R))), delta=1e-8)
        gaps = Y.copy()
        gaps[:, 2, 5] = gaps[1, 0, 9] = np.nan
        with self.assertRaises(tlnmf.DataError):
            tlnmf.Data(gaps)
        data = tlnmf.Data(gaps, missing=True)
        self.assertEqual(data.missing, 5)
        self.assertEqual(np.flatnonzero(tlnmf.fit(data, 2).H.sum(0) == 0).tolist(), [5])
        with self.assertRaisesRegex(ValueError, "mask has the shape"):
            tlnmf.Data(Y, mask=mask.T)

    def test_apply_with_weights_and_mask(self):
        w = np.arange(30) % 3
        mask = (np.arange(7 * 30).reshape(7, 30) % 4 > 0).astype(float)
        C = np.einsum("smn,skn->nmk", Y, Y) / len(Y)
        for method in ("tl", "jd", "nmf"):
            m = tlnmf.fit(Y, 2, method=method, weights=w)
            self.assertEqual(m.apply(Y).own_data, 0)
            for arrays in ({"Y": Y}, {"covariances": C}, {"Y": tlnmf.Data(Y, weights=w)}):
                weights = {} if isinstance(arrays.get("Y"), tlnmf.Data) else {"weights": w}
                applied = tlnmf.apply(m, **arrays, **weights)
                self.assertEqual(applied.own_data, 1)
                self.assertEqual(applied.fits, "these are its own data")
                self.assertIn("these are its own data", repr(applied))
                np.testing.assert_array_equal(applied.H, m.H)
        m = tlnmf.fit(Y, 2, method="nmf", mask=mask)
        self.assertEqual(m.entries, mask.sum())
        np.testing.assert_array_equal(tlnmf.apply(m, Y, mask=mask).H, m.H)
        some = np.flatnonzero(w)  # frames are independent
        H = tlnmf.apply(m, Y[:, :, ::-1], weights=w, mask=mask).H
        alone = tlnmf.apply(m, Y[:, :, ::-1][:, :, some], mask=mask[:, some]).H
        np.testing.assert_allclose(H[:, some], alone, atol=1e-4 * alone.max())
        self.assertFalse(H[:, w == 0].any())
        for wrong in ({"weights": w[1:]}, {"weights": -w}, {"mask": mask[1:]}, {"mask": -mask}):
            with self.assertRaises(ValueError):
                tlnmf.apply(m, Y, **wrong)
        with self.assertRaisesRegex(TypeError, r"pass covariances, .* to Data\(\), not together with a Data object"):
            tlnmf.apply(m, tlnmf.Data(Y), mask=mask)

    def test_the_figures_of_the_verdict(self):
        """excess, its error and excess_random, simulated again with numpy, with 1200 frames instead of 400."""
        rng, M, K, N, S = np.random.default_rng(4), 8, 2, 20, 3
        W = rng.exponential(size=(M, K))
        draw = lambda v, S: rng.standard_normal((S,) + v.shape) * np.sqrt(v)
        model = tlnmf.fit(draw(W @ rng.exponential(size=(K, N)), S), K, method="tl")
        new = draw(W @ rng.exponential(size=(K, 60)), 5)
        applied = tlnmf.apply(model, new)

        def misfit(Y):  # I of each frame
            H = tlnmf.apply(model, Y).H
            x = (((model.Phi @ Y) ** 2).mean(0) + model.eps) / (model.W @ H + model.eps)
            return (x - np.log(x) - 1).sum(0)

        def simulate(v, S):
            return misfit(model.Phi.T @ draw(np.tile(v, 1200 // v.shape[1]), S))

        v = model.W @ applied.H
        I_new, new_star, own_star = misfit(new), simulate(v, 5), simulate(model.W @ model.H, S)
        permuted = np.mean([simulate(v[rng.permutation(M)], 5).mean() for _ in range(20)])
        excess = (I_new.mean() - new_star.mean() - model.I / N + own_star.mean()) / M - 2 * K * (M - 1) / (M * N * S)
        chance = np.sqrt((new_star.var() + own_star.var()) * (1 / 400 + 1 / 1200)) / M
        self.assertLess(abs(applied.excess - excess), 4 * chance)
        error = np.sqrt(max(I_new.var(ddof=1), new_star.var()) / 60 + new_star.var() / 400 + own_star.var() * (1 / N + 1 / 400))
        self.assertLess(abs(applied.excess_error * M / error - 1), 0.15)
        self.assertLess(abs(applied.excess_random * M / (permuted - new_star.mean()) - 1), 0.5)
        self.assertLess(4 * chance, 2 * K * (M - 1) / (M * N * S))  # so that the test sees that term
        self.assertEqual(applied.fits[:11], "cannot tell")
        judged = (f"{applied.excess:.3g} (standard error {applied.excess_error:.2g}; "
                  f"{applied.excess_random:.3g} with permuted rows of W H)")  # fmt: skip
        text = repr(applied)
        self.assertIn(f"fits = {applied.fits!r}; I_per_entry = {applied.I_per_entry:.4g}; excess = {judged}; ", text)
        self.assertIn(f"<th align=left>excess</th><td>{judged}</td>", applied._repr_html_())
        names = set(text[:-1].split("; ")[-1].split(", "))
        self.assertEqual(names, set(applied) - {"fits", "I_per_entry", "excess", "excess_error", "excess_random"})
        self.assertEqual(tlnmf.apply(model, new, J=1).fits, "cannot tell: the fit of H did not converge")

    def test_several_k(self):
        ranks = tlnmf.compare_ranks(Y, "1:3", method="jd")
        self.assertEqual(ranks.rank_by, "realisations")
        eps, scores = ranks.eps, np.empty((3, len(Y)))
        for f in range(len(Y)):  # leave-one-out by hand
            for k in (1, 2, 3):
                m = tlnmf.fit(np.delete(Y, f, axis=0), k, method="jd", eps=eps, starts=1)
                scores[k - 1, f] = tlnmf.evaluate(Y[f], m).C / (7 * 30)
        np.testing.assert_array_equal(ranks["rank.scores"], scores)
        mean = scores.mean(axis=1)
        self.assertEqual(ranks.k, 1 + mean.argmin())
        np.testing.assert_allclose([row["C_per_entry"] for row in ranks.rank_table], mean)
        off = scores - scores[mean.argmin()]
        error = off.std(axis=1, ddof=1) / np.sqrt(len(Y))
        np.testing.assert_allclose([row["standard_error"] for row in ranks.rank_table], error)
        for k in ("1:3", range(1, 4)):
            m = tlnmf.fit(Y, k, method="jd")
            self.assertEqual((m.K, m.rank_table), (ranks.k, ranks.rank_table))
            np.testing.assert_array_equal(m.H, tlnmf.fit(Y, ranks.k, method="jd").H)
        self.assertEqual(pickle.loads(pickle.dumps(m)).rank_table, ranks.rank_table)
        self.assertEqual(tlnmf.fit(Y, 2, method="jd").rank_table, [])
        C = np.einsum("smn,skn->nmk", Y, Y) / len(Y)
        m = tlnmf.fit(covariances=C, k="auto", method="jd")
        self.assertEqual((m.rank_by, len(m.rank_table)), ("entries", 7))
        one = tlnmf.compare_ranks(np.tile(Y[0], 2), "1:2", method="jd")
        self.assertEqual({one.rank_by, one["other.rank_by"]}, {"neighbours", "entries"})
        w = np.arange(30) % 2 + 1.0
        self.assertNotEqual(tlnmf.compare_ranks(Y, "1:1", weights=w, method="jd").rank_table,
                            tlnmf.compare_ranks(Y, "1:1", method="jd").rank_table)  # fmt: skip
        for wrong in ("x", "3:1", "1:", range(1, 9, 2), range(0)):
            with self.assertRaises(ValueError):
                tlnmf.fit(Y, wrong)
        with self.assertRaisesRegex(TypeError, "requires the array Y: Data do not keep the realisations"):
            tlnmf.fit(tlnmf.Data(Y), "1:2")
        with self.assertRaisesRegex(tlnmf.OptionError, "a start may hold Phi only"):
            tlnmf.fit(Y, "1:2", start={"W": m.W})
        begun = tlnmf.fit(Y, 2, method="jd", eps=1e-3)  # gives Phi, eps and method, but not k, W, H
        again = tlnmf.fit(Y, "1:2", start=begun)
        self.assertEqual((again.method, again.eps, len(again.rank_table)), ("jd", 1e-3, 2))
        self.assertEqual(tlnmf.compare_ranks(Y, "1:2", start=begun).rank_table, again.rank_table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", convergence())
            m = tlnmf.fit(Y, "1:2", max_seconds=0.2)
        self.assertTrue(m.rank_folds >= 1 and m.wall_seconds < 5)

    def test_eps_check(self):
        m = tlnmf.fit(Y, 2, method="jd", eps_check=True)
        np.testing.assert_allclose(m["eps_check.eps"], [m.eps / 3, 3 * m.eps])
        for eps, above in zip(m["eps_check.eps"], m["eps_check.above_per_entry"]):
            other = tlnmf.fit(Y, 2, method="jd", eps=eps)
            point = {"Phi": other.Phi, "W": other.W, "H": other.H, "eps": m.eps}
            self.assertAlmostEqual((tlnmf.evaluate(Y, point).C - m.C) / (7 * 30), above, delta=1e-12)
        self.assertIn(m["eps_check.matters"], (0, 1))

    def test_apply_and_start(self):
        m = tlnmf.fit(Y, 3)
        applied = m.apply(Y, keep_v=True)
        self.assertEqual(applied.H.shape, (3, 30))
        np.testing.assert_allclose(applied.V, np.mean((m.Phi @ Y) ** 2, axis=0), rtol=1e-9)
        again = tlnmf.fit(Y, 3, start=m, method="tl", J=1)
        self.assertLessEqual(again.C, m.C + 1e-9)
        point = {name: m[name] for name in ("Phi", "W", "H")}
        self.assertLessEqual(tlnmf.fit(Y, 3, start=point, method="tl").C, m.C + 1e-9)
        first = tlnmf.draw_start(Y, 0, k=3)
        self.assertEqual(first.W.shape, (7, 3))

    def test_history(self):
        h = tlnmf.fit(Y, 2, method="tl", trace=True).history
        self.assertTrue(np.all(np.diff(h["C"]) <= 1e-9))

    def test_history_ends_at_the_model(self):
        """The rows of a descent reuse its gradient, and I = C - L unless I is small."""
        rank_1 = np.sqrt(np.outer(np.arange(1.0, 8.0), np.arange(1.0, 31.0)))  # I becomes almost 0
        for data, method, k, J in ((Y, "tl", 2, 25), (Y, "jd", 2, 14), (Y, "nmf", 2, 12), (rank_1, "nmf", 1, 30)):
            m = tlnmf.fit(data, k, method=method, J=J, starts=1, trace=True, eps=1e-3, hops=0)
            last = {name: x[-1] for name, x in m.history.items()}
            self.assertAlmostEqual(last["C"], m.C, delta=1e-9 * abs(m.C))
            self.assertAlmostEqual(last["L"], m.L, delta=1e-9 * abs(m.L))
            self.assertAlmostEqual(last["I"], m.I, delta=1e-9 * m.I + 1e-13, msg=f"{method}, {k}")
            self.assertFalse((m.history["I"] < 0).any())  # C - L may be, by rounding
            if method == "tl":
                self.assertAlmostEqual(last["gradient"], m.gradient_norm, delta=1e-9 * m.gradient_norm)

    def test_transform_matrix(self):
        m, n = np.arange(8)[:, None], np.arange(8)
        dct = np.sqrt(2 / 8) * np.cos(np.pi * m * (2 * n + 1) / 16)
        dct[0] /= np.sqrt(2)
        np.testing.assert_allclose(tlnmf.transform_matrix("dct", 8), dct, atol=1e-14)


class Records(unittest.TestCase):
    def test_arrays_outlive_their_record(self):
        Phi = tlnmf.fit(Y, 2).Phi
        copy = np.array(Phi)
        for _ in range(20):
            tlnmf.fit(Y, 2, seed=5)
        np.testing.assert_array_equal(Phi, copy)
        self.assertRaises(ValueError, Phi.__setitem__, (0, 0), 1.0)

    def test_mapping_and_pickle(self):
        m = tlnmf.fit(Y, 2)
        self.assertIn("C", m)
        self.assertNotIn("nothing", m)
        self.assertRaises(KeyError, m.__getitem__, "nothing")
        self.assertRaises(AttributeError, getattr, m, "nothing")
        self.assertEqual(set(m), set(dict(m)))
        again = pickle.loads(pickle.dumps(m))
        self.assertEqual(again, m)
        self.assertEqual(type(again), tlnmf.Model)
        fitted = tlnmf.fit(Y, 2, J=3, trace=True)
        self.assertIn("<svg", fitted._repr_html_())
        self.assertIn("<td>limit of 3 iterations</td>", fitted._repr_html_())
        applied = tlnmf.apply(fitted, Y)
        self.assertIn(f"<td>{applied.fits}</td>", applied._repr_html_())
        damaged = bytearray(m.pack())
        damaged[len(damaged) // 2] ^= 1
        self.assertRaises(tlnmf.DataError, tlnmf.Record.unpack, bytes(damaged))

    def test_objects_that_cannot_be_pickled(self):
        data = tlnmf.Data(Y)
        self.assertIs(copy.copy(data), data)
        for thing, advice in ((data, "keep the array"), (tlnmf.fit(Y, 2).applier(), "keep the model")):
            for work in (pickle.dumps, copy.deepcopy):
                with self.assertRaisesRegex(TypeError, advice):
                    work(thing)

    def test_notebook_output(self):
        def rows(model):
            row = "<th align=left>(convergence|atoms)</th><td>(.*?)</td>"
            return dict(re.findall(row, model._repr_html_()))

        traced, plain = tlnmf.fit(Y, 2, trace=True), tlnmf.fit(Y, 2)
        self.assertIn("trace=True", rows(plain)["convergence"])
        self.assertEqual(rows(plain)["atoms"], rows(traced)["atoms"])
        with tempfile.TemporaryDirectory() as folder:
            traced.save(folder + "/m.h5")
            loaded = tlnmf.load(folder + "/m.h5")
        self.assertEqual(rows(loaded)["convergence"], rows(traced)["convergence"])
        self.assertEqual(rows(loaded)["atoms"], rows(traced)["atoms"])
        self.assertEqual(rows(loaded)["atoms"].count("<svg"), 4)
        older = {name: loaded[name] for name in loaded if name != "energy"}
        self.assertEqual(rows(tlnmf.Model.of(older))["atoms"].count("<svg"), 4)
        self.assertNotIn("atoms", rows(tlnmf.Model.of({"Phi": np.eye(3)})))

    def test_curve_of_the_result(self):
        C = np.einsum("smn,skn->nmk", Y, Y)
        models = [tlnmf.fit(Y, 3, trace=True, trace_all=True, **options)
                  for options in (dict(start={"Phi": np.eye(7)}, hops=0), dict(method="jd"), dict(method="nmf"))]
        models.append(tlnmf.joint_diagonalize(C, trace=True)[1])
        self.assertEqual([m.method for m in models], ["tl", "jd", "nmf", "jd"])
        for m, stage, name in zip(models, (0, 2, 2, 1), "CCCL"):
            h = m.history
            values = h[name][(h["start"] == m.best_start) & (h["stage"] == stage)]
            count = int(h["iteration"][(h["start"] == m.best_start) & (h["stage"] == stage)][-1])
            text = re.search("convergence</th><td>(.*?)</td>", m._repr_html_())[1]
            points = re.search('points="(.*?)"', text)[1].split()
            self.assertEqual(len(points), len(values))  # of one stage
            caption = f"{name} from {values[0]:.8g} to {values[-1]:.8g} in {count} iterations (log scale)"
            self.assertTrue(text.endswith("</svg> " + caption), text)
        self.assertGreater(len(set(models[0].history["stage"])), 1)  # JD+NMF came first
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", convergence())
            short = tlnmf.fit(Y, 3, J=1, starts=1, trace=True)
        self.assertIn(f"<td>C = {short.C:.8g} after 1 iteration</td>", short._repr_html_())

    def test_every_result_has_an_explanation(self):
        known = tlnmf.results()
        for name in tlnmf.fit(Y, 2, trace=True):
            self.assertTrue(name in known or name.startswith("option."), name)


class Options(unittest.TestCase):
    def test_signature_is_the_table(self):
        for function, task in ((tlnmf.fit, "fit"), (tlnmf.joint_diagonalize, "jd"),
                               (tlnmf.apply, "apply"), (tlnmf.bss_eval, "score")):  # fmt: skip
            signature = inspect.signature(function).parameters
            for option in tlnmf.options(task):
                name = {"rank_reduce": "rank"}.get(option.python, option.python)
                self.assertIn(name, signature)
                self.assertIn(name + " : ", function.__doc__)
        self.assertEqual(inspect.signature(tlnmf.fit).parameters["tol"].default, 1e-12)
        self.assertEqual(inspect.signature(tlnmf.TLNMF).parameters["trace"].default, True)
        self.assertIn("    trace : bool, default True", tlnmf.TLNMF.__doc__)
        self.assertIn("    certify : bool, default True", tlnmf.TLNMF.__doc__)
        self.assertFalse(inspect.signature(tlnmf.JDNMF).parameters["certify"].default)

    def test_applier(self):
        model = tlnmf.fit(Y, 2)
        frames = np.asarray(Y if np.ndim(Y) == 2 else Y[0])
        applier = model.applier(J=100)
        for n in range(3):
            h = tlnmf.apply(model, frames[:, n : n + 1], J=100).H[:, 0]
            np.testing.assert_allclose(applier(frames[:, n]), h, atol=1e-10 * h.sum())
        self.assertEqual(applier(0 * frames[:, 0]).sum(), 0)
        with self.assertRaisesRegex(ValueError, "samples; the model expects"):
            applier([1.0])
        with self.assertRaisesRegex(TypeError, "'max_iter'; did you mean 'J'"):
            tlnmf.Applier(model, max_iter=3)

    def test_wrong_options(self):
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'toll'; did you mean 'tol'"):
            tlnmf.fit(Y, 2, toll=1)
        for theirs, ours in (("n_components", "k"), ("rank", "k"), ("max_iter", "J"), ("iterations", "J"),
                             ("random_state", "seed")):  # fmt: skip
            with self.assertRaisesRegex(TypeError, f"keyword argument '{theirs}'; did you mean '{ours}'"):
                tlnmf.fit(Y, **{theirs: 2})
        with self.assertRaisesRegex(TypeError, "'k'; did you mean 'n_components'"):
            tlnmf.TLNMF(k=2)
        with self.assertRaisesRegex(ValueError, r"Phi has the shape \(1, 2\), not \(7, 7\)"):
            tlnmf.fit(Y, 2, transform=[[2.0, 3.0]])
        with self.assertRaisesRegex(TypeError, "unknown name phi; did you mean Phi"):
            tlnmf.fit(Y, 2, start={"phi": [[1.0]]})
        with self.assertRaisesRegex(ValueError, r"k = 0 is outside \[1, 10000\]"):
            tlnmf.fit(Y, 0)
        with self.assertRaisesRegex(ValueError, "method"):
            tlnmf.fit(Y, 2, method="best")
        for function in (tlnmf.fit, tlnmf.draw_start):
            words = rf"{function.__name__}\(\) requires k \(rank: the number"
            with self.assertRaisesRegex(TypeError, words):
                function(Y)
        with self.assertRaises(TypeError):
            tlnmf.fit(Y, 2, tol=[1])
        with self.assertRaises(ValueError):
            tlnmf.fit(Y, 2, tol=float("nan"))

    def test_large_seed_and_flags(self):
        seed = 2**64 - 1
        a = tlnmf.fit(Y, 2, seed=seed, trace=np.bool_(True), tol=np.float32(1e-9), starts=np.int8(2))
        self.assertTrue(a.history)


class Arrays(unittest.TestCase):
    def test_layouts_make_no_difference(self):
        want = tlnmf.fit(Y, 2).H
        frozen = Y.copy()
        frozen.flags.writeable = False
        strided = np.repeat(Y, 2, axis=2)[:, :, ::2]
        backwards = Y[:, :, ::-1].copy()[:, :, ::-1]
        unmasked = np.ma.MaskedArray(Y, mask=False)
        big = Y.astype(">f8")
        for y in (np.asfortranarray(Y), frozen, strided, backwards, Y.tolist(), unmasked, big):
            np.testing.assert_array_equal(tlnmf.fit(y, 2).H, want)
        tlnmf.fit(Y.astype(np.float32), 2)
        tlnmf.fit((100 * Y).astype(int), 2)


class Calls(unittest.TestCase):
    def test_callback_sees_and_stops(self):
        seen = []

        def stop(state):
            seen.append(state)
            return state["iteration"] >= 5

        m = tlnmf.fit(Y, 2, method="tl", solver="paper", tol=0, callback=stop)
        self.assertEqual(m.outcome, "cancelled")
        self.assertEqual([s["iteration"] for s in seen], [1, 2, 3, 4, 5])
        self.assertEqual(seen[0]["stage"], "tl")

    def test_exception_of_a_callback(self):
        def fail(state):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            tlnmf.fit(Y, 2, callback=fail)
        self.assertTrue(tlnmf.fit(Y, 2).converged)

    def test_callback_may_call_the_library(self):
        inner = []
        callback = lambda state: inner.append(tlnmf.fit(Y, 2, J=2).C) or len(inner) > 2
        tlnmf.fit(Y, 2, method="tl", solver="paper", starts=3, callback=callback)
        self.assertGreater(len(inner), 2)

    def test_progress_is_shown(self):
        self.assertTrue(tlnmf.fit(Y, 2, progress=True, starts=3).converged)

    def test_warnings(self):
        y = np.random.RandomState(0).randn(4000)
        options = dict(frame=64, per_source=1, transform="dct", method="nmf", window="sine")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tlnmf.separate(y, 8000, [(0.0, 0.2, "a"), (0.3, 0.9, "b")], **options)
        self.assertTrue(any("label" in str(w.message) or "b" in str(w.message) for w in caught))


    def test_warnings_about_data(self):
        with self.assertWarnsRegex(convergence(), "J = 2 iterations were not enough"):
            tlnmf.fit(Y, k=2, J=2)
        with self.assertWarnsRegex(RuntimeWarning, "subtract from each entry of the frames its mean"):
            offset = tlnmf.TLNMF(2).fit(Y.transpose(0, 2, 1) + 1000 * abs(Y).max())
        self.assertIn("offset", offset.certificate_reason_)
        for text in (offset._repr_html_(), tlnmf.report(offset).html):
            self.assertIn("subtract from each entry of the frames its mean", text)
            self.assertIn("none: the mean of the data looks like an offset", text)
        self.assertIn("1 warning, see caveats", repr(offset.model_))
        constant = Y[0].T.copy()  # (N, M): a row is a frame
        constant[:, 3] = 0.01
        with self.assertWarnsRegex(RuntimeWarning, "entry 3 of the frames is constant: omit it"):
            tlnmf.TLNMF(2, J=5).fit(constant)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tlnmf.fit(Y, k=2)

    def test_warnings_name_the_line_of_the_caller(self):
        X, C = Y.transpose(0, 2, 1), np.einsum("smn,skn->nmk", Y, Y)
        wide = np.random.RandomState(0).randn(3, 20, 4)  # frames of length 20, but only 4
        for call in (
            lambda: tlnmf.fit(Y, k=2, J=2),
            lambda: tlnmf.fit(wide, k="1:2", J=2),
            lambda: tlnmf.compare_ranks(wide, "1:2", J=2),
            lambda: tlnmf.TLNMF(2, J=2).fit(X),
            lambda: tlnmf.TLNMF(2, J=2).fit_transform(wide.transpose(0, 2, 1)),
            lambda: tlnmf.ISNMF(2).fit(0 * X[0]),
            lambda: tlnmf.joint_diagonalize(C, J=1),
            lambda: tlnmf.JointDiagonalizer(J=1).fit_transform(C),
            lambda: tlnmf.ajd(C, eps=1e-7, n_iter_max=1),
            lambda: tlnmf.Data(C),
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call()
            lines = {(w.filename, w.lineno) for w in caught}
            self.assertEqual(lines, {(__file__, call.__code__.co_firstlineno)}, list(map(str, caught)))
        for path in Path(tlnmf.__file__).parent.glob("*.py"):  # one function issues all warnings
            self.assertTrue(path.name == "_errors.py" or "import warnings" not in path.read_text(), path)

    def test_warnings_about_the_time_limit(self):
        frames = np.tile(Y, 100)
        with self.assertWarnsRegex(convergence(), "max_seconds ended the run; use a larger .* accept a") as caught:
            m = tlnmf.fit(frames, 3, max_seconds=0.001)
        self.assertEqual((m.outcome, m.starts_completed, caught.filename), ("time", 0, __file__))
        endless = dict(method="nmf", transform="dct", starts=1000, J=10**4, max_seconds=1, threads=1)
        with self.assertWarnsRegex(convergence(), r"the best result so far \(\d+ starts? completed\)") as caught:
            m = tlnmf.fit(frames[:, :, :300], 3, **endless)
        self.assertIn(f"({m.starts_completed} ", str(caught.warning))
        with self.assertWarnsRegex(convergence(), "ended the comparison of k after 1 of 5 folds") as caught:
            tlnmf.compare_ranks(np.tile(Y, (3, 1, 4)), "1:5", max_seconds=0.001)
        self.assertEqual(caught.filename, __file__)

    def test_warning_for_symmetric_slices(self):
        C = np.einsum("smn,skn->nmk", Y, Y)
        square = np.random.RandomState(0).randn(5, 5)
        for stack, words in (
            (C, r"read as covariances \(N, M, M\) of 30 frames"),
            (C.transpose(1, 2, 0), r"read as covariances \(M, M, N\) of 30 frames"),
        ):
            for call in (lambda: tlnmf.fit(stack, k=2, J=3), lambda: tlnmf.Data(stack)):
                with self.assertWarnsRegex(UserWarning, words) as caught:
                    call()
                self.assertEqual(caught.filename, __file__)
            known = tlnmf.fit(stack, k=2, input="covariances")
            self.assertEqual(known.C, tlnmf.fit(covariances=C, k=2).C)
            self.assertNotEqual(known.C, tlnmf.fit(stack, k=2, input="data").C)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for data in (Y, C[:, :1, :1], square[None], square + square.T):
                tlnmf.Data(data)
            tlnmf.Data(covariances=C)
            tlnmf.TLNMF(2).fit(square + square.T)


class Files(unittest.TestCase):
    def test_save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "modèle.h5"
            m = tlnmf.fit(Y, 2)
            m.save(path)
            again = tlnmf.load(path)
            for name in ("Phi", "W", "H"):
                np.testing.assert_array_equal(again[name], m[name])
            self.assertEqual(again.eps, m.eps)
            estimator = tlnmf.TLNMF(2).fit(Y.transpose(0, 2, 1))
            estimator.save(str(path))
            loaded = tlnmf.TLNMF.load(path)
            X = Y[0].T
            np.testing.assert_array_equal(loaded.transform(X), estimator.transform(X))
            tlnmf.save(path, estimator)
            self.assertEqual(tlnmf.load(path).history.keys(), estimator.history_.keys())
            (Path(folder) / "bad.h5").write_text("no model")
            self.assertRaises(OSError, tlnmf.load, Path(folder) / "bad.h5")
            self.assertRaises(FileNotFoundError, tlnmf.load, Path(folder) / "none.h5")
            self.assertRaises(OSError, m.save, Path(folder) / "no" / "folder.h5")


class Sound(unittest.TestCase):
    def test_stems_sum_to_the_recording(self):
        rate, t = 8000, np.arange(8000) / 8000
        a, b = np.sin(2 * np.pi * 440 * t) * (t < 0.7), np.sin(2 * np.pi * 910 * t) * (t > 0.35)
        y = np.stack([a + b, a - 0.5 * b], axis=1)
        labels = [(0.0, 0.7, "a"), (0.35, 1.0, "b")]
        options = dict(frame=256, per_source=1, transform="dct", method="nmf", window="sine")
        stems = tlnmf.separate(y, rate, labels, **options)
        self.assertEqual(list(stems), ["a", "b"])
        np.testing.assert_allclose(stems["a"] + stems["b"], y, atol=1e-12)
        self.assertIsInstance(stems.quality, str)
        mono = tlnmf.separate(y[:, 0], rate, labels, **options)
        scores = tlnmf.bss_eval([a, b], [mono["a"], mono["b"]], filter=1)
        self.assertGreater(scores.mean_si_sdr, 10)
        again = tlnmf.separate(y[:, 0], rate, labels, model=mono.model)
        np.testing.assert_array_equal(again["a"], mono["a"])
        self.assertRaises(TypeError, tlnmf.separate, y, rate, labels, fram=3)
        self.assertRaises(ValueError, tlnmf.bss_eval, np.ones((2, 9)), np.ones((2, 8)))
        for x, why in (np.nan, "not finite"), (np.inf, "not finite"), (1e200, "too large to square"):
            bad = np.ones((2, 9))
            bad[1, 5] = x
            with self.assertRaisesRegex(ValueError, f"estimate 1, sample 5, channel 0 is {why}"):
                tlnmf.bss_eval(np.ones((2, 9)), bad, filter=1)


if __name__ == "__main__":
    unittest.main()
