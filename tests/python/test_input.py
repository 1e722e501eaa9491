"""The forms of input: missing values, powers, named axes, starts, fixed transforms, refusals."""
import re
import tempfile
import unittest
import warnings

import numpy as np

import tlnmf

Y = tlnmf.simulate.gcm(s=5, m=6, n=20, kbar=2).Y
HOLES = Y.copy()
HOLES[0, 0, 3] = HOLES[2, 1, 7] = np.nan


class Missing(unittest.TestCase):
    def test_functions(self):
        model = tlnmf.fit(HOLES, k=2, missing=True)
        self.assertEqual(model.missing, np.isnan(HOLES).any(axis=1).sum())
        self.assertEqual(model.C, tlnmf.fit(tlnmf.Data(HOLES, missing=True), k=2).C)
        self.assertEqual(model.C, tlnmf.fit(np.ma.masked_invalid(HOLES), k=2, missing=True).C)
        self.assertEqual(tlnmf.apply(model, HOLES, missing=True).H.shape, (2, 20))
        self.assertEqual(tlnmf.fit(Y, k=2, block=4).N, 5)
        self.assertRaises(ValueError, tlnmf.fit, HOLES, k=2)
        self.assertRaises(ValueError, tlnmf.fit, np.ma.masked_invalid(HOLES), k=2)
        self.assertRaises(TypeError, tlnmf.fit, tlnmf.Data(Y), k=2, missing=True)

    def test_estimators(self):
        X = HOLES.transpose(0, 2, 1)
        model = tlnmf.TLNMF(2, missing=True, random_state=1).fit(X)
        self.assertEqual(model.model_.C, tlnmf.fit(HOLES, k=2, missing=True, method="tl", starts=1).C)
        self.assertEqual(model.transform(np.ma.masked_invalid(X)).shape, (20, 2))
        row = X[0].copy()
        self.assertTrue((model.transform(row)[3] == 0).all())
        self.assertTrue(np.isnan(model.score_samples(row)[3]) and np.isfinite(model.score(row)))
        for x in (X, np.ma.masked_invalid(X)):
            self.assertRaises(ValueError, tlnmf.TLNMF(2).fit, x)

    def test_score_of_the_realisations_that_have_a_row(self):
        X = Y.transpose(0, 2, 1)
        model = tlnmf.TLNMF(2, missing=True, random_state=1).fit(X)
        holed = X.copy()
        holed[2, 5, 0] = holed[1:, 7, 3] = np.nan
        scores = model.score_samples(holed)
        np.testing.assert_allclose(scores[5], model.score_samples(np.delete(X, 2, 0))[5])
        np.testing.assert_allclose(scores[7], model.score_samples(X[0])[7])
        others = np.delete(np.arange(20), [5, 7])
        np.testing.assert_allclose(scores[others], model.score_samples(X)[others])
        self.assertAlmostEqual(model.score(holed), scores.mean())
        holed[:, :] = 0
        holed[1, :, 2] = np.nan  # every row lacks a realisation; the others are silent
        np.testing.assert_allclose(model.score_samples(holed), model.score_samples(0 * X[:4]))
        power = tlnmf.ISNMF(2, missing=True, random_state=1).fit(X**2)
        holed = X**2
        holed[:, 4, 1] = holed[2, 5] = np.nan
        scores = power.score_samples(holed)
        np.testing.assert_allclose(scores[5], power.score_samples(np.delete(X**2, 2, 0))[5])
        self.assertTrue(np.isfinite(scores).all())

    def test_an_omitted_frame_does_not_count(self):
        wild = HOLES.copy()
        wild[0, 1:, 3] = 1e6  # next to the NaN
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(tlnmf.fit(wild, k=2, missing=True).C, tlnmf.fit(HOLES, k=2, missing=True).C)

    def test_messages_name_the_parameter(self):
        X, model = HOLES.transpose(0, 2, 1), tlnmf.fit(Y, k=2)
        for call in (
            lambda: tlnmf.fit(HOLES, k=2),
            lambda: tlnmf.fit(np.ma.masked_invalid(HOLES), k=2),
            lambda: model.apply(HOLES),
            lambda: tlnmf.compare_ranks(HOLES, "1:2"),
            lambda: tlnmf.fit(HOLES[0] ** 2, k=2, input="power"),
            lambda: tlnmf.TLNMF(2).fit(X),
            lambda: tlnmf.JDNMF(2).fit(np.ma.masked_invalid(X)),
        ):
            self.assertRaisesRegex(ValueError, "pass missing=True", call)
        far = Y.copy()
        far[0, 0, 0] = np.inf
        for call in (lambda: tlnmf.fit(far, k=2), lambda: tlnmf.TLNMF(2).fit(far[0].T)):
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertNotIn("missing", str(caught.exception))


class MissingPowers(unittest.TestCase):
    """Scattered NaN: only these entries are omitted, as by a mask."""

    rng = np.random.RandomState(3)
    W, H = rng.exponential(size=(12, 2)), rng.exponential(size=(2, 60))
    V = W @ H * rng.exponential(size=(12, 60))
    GAP = rng.rand(12, 60) < 0.2
    HOLED = np.where(GAP, np.nan, V)

    def test_every_way_is_the_mask(self):
        mask = 1.0 * ~self.GAP
        wanted = tlnmf.fit(self.V, k=2, input="power", mask=mask, starts=3, eps=1e-6)
        options = {"k": 2, "input": "power", "starts": 3, "eps": 1e-6}
        model = tlnmf.ISNMF(2, missing=True, starts=3, eps=1e-6, random_state=1).fit(self.HOLED.T)
        for found in (
            tlnmf.fit(self.HOLED, missing=True, **options),
            tlnmf.fit(np.ma.masked_invalid(self.HOLED), missing=True, **options),
            tlnmf.fit(self.HOLED, mask=mask, **options),
            model.model_,
        ):
            self.assertAlmostEqual(found.C, wanted.C, delta=1e-6 * abs(wanted.C))
        self.assertTrue((model.activations_.sum(axis=1) > 0).all())
        np.testing.assert_allclose(model.transform(self.HOLED.T), model.activations_, atol=0.01)
        applied = tlnmf.apply(wanted, self.HOLED, mask=mask)
        np.testing.assert_allclose(applied.H, wanted.H, atol=0.01)
        self.assertEqual(tlnmf.Data(self.HOLED, input="power", missing=True).missing, self.GAP.sum())
        self.assertEqual((wanted.missing, model.model_.missing), (self.GAP.sum(), self.GAP.sum()))

    def test_default_floor_is_that_of_the_entries(self):
        model = tlnmf.ISNMF(2, missing=True).fit(self.HOLED.T)
        self.assertAlmostEqual(model.model_.eps / np.nanmean(self.HOLED), 1e-6)

    def test_score_of_the_other_entries(self):
        X = self.V.T
        model = tlnmf.ISNMF(2, missing=True, random_state=0).fit(X)
        half = X.copy()
        half[:, 6:] = np.nan
        part = {"Phi": np.eye(6), "W": model.model_.W[:6], "H": model.model_.H, "eps": model.model_.eps}
        of_half = tlnmf.ISNMF(2)
        of_half._keep(tlnmf.Model.of(part))
        np.testing.assert_allclose(model.score_samples(half), of_half.score_samples(X[:, :6]))
        half[0] = np.nan
        self.assertTrue(np.isnan(model.score_samples(half)[0]) and np.isfinite(model.score(half)))
        rows = np.full((20, 6), np.nan)
        learnt = tlnmf.TLNMF(2, missing=True).fit(Y[0].T)
        self.assertRaisesRegex(ValueError, "no row of X can be scored", learnt.score, rows)

    def test_several_realisations(self):
        both = np.stack([self.HOLED, self.V])  # a gap in one: the mean is that of the other
        V = np.where(self.GAP, self.V, (self.V + self.V) / 2)
        mask = np.where(self.GAP, 0.5, 1.0)
        options = {"k": 2, "input": "power", "starts": 3, "eps": 1e-6}
        wanted = tlnmf.fit(V, mask=mask, **options)
        self.assertAlmostEqual(tlnmf.fit(both, missing=True, **options).C, wanted.C, delta=1e-4)

    def test_limits(self):
        options = {"input": "power", "missing": True}
        self.assertRaisesRegex(ValueError, "pass one k", tlnmf.fit, self.HOLED, k="1:2", **options)
        self.assertRaisesRegex(ValueError, "every power is missing", tlnmf.fit, np.nan * self.V, k=2, **options)
        bare = self.V.copy()
        bare[5] = np.nan
        for call in (
            lambda: tlnmf.fit(bare, k=2, **options),
            lambda: tlnmf.ISNMF(2, missing=True).fit(bare.T),
        ):
            self.assertRaisesRegex(ValueError, "entry 5 of the frames of V has no data: .* Omit", call)
        frame = Y[0].copy()
        frame[:, 4] = np.nan
        mask = np.ones((6, 20))
        mask[:, 4] = 0
        model = tlnmf.fit(frame, k=2, method="nmf", transform="dct", mask=mask)
        self.assertEqual(model.H[:, 4].sum(), 0)
        mask[0, 4] = 1
        self.assertRaises(ValueError, tlnmf.fit, frame, k=2, method="nmf", transform="dct", mask=mask)


class Power(unittest.TestCase):
    V = np.random.RandomState(0).exponential(size=(12, 2)) @ np.random.RandomState(1).rand(2, 30)

    def test_fit_of_V(self):
        model = tlnmf.fit(self.V, k=2, input="power", starts=5)
        np.testing.assert_allclose(model.W @ model.H, self.V, rtol=1e-2)
        np.testing.assert_array_equal(model.Phi, np.eye(12))
        self.assertAlmostEqual(model.eps / self.V.mean(), 1e-6)
        again = tlnmf.ISNMF(2, starts=5, random_state=1).fit(self.V.T)
        self.assertEqual(again.model_.C, model.C)
        self.assertEqual(model.apply(self.V)["own_data"], 1)
        self.assertEqual(tlnmf.fit(self.V, k=2, input="power", eps_rel=1e-3).eps, 1e-3 * self.V.mean())
        self.assertIn(tlnmf.fit(self.V, k="1:2", input="power").K, (1, 2))

    def test_degrees_of_freedom(self):
        V = np.tile(self.V, 2)  # 60 frames: some are held out
        ranks = {dof: tlnmf.compare_ranks(V, "1:2", input="power", dof=dof) for dof in (None, 2, 5)}
        self.assertEqual(ranks[None].rank_table, ranks[2].rank_table)
        self.assertNotEqual(ranks[5].rank_table, ranks[2].rank_table)
        self.assertEqual((ranks[2].rank_by, ranks[2].rank_realisations), ("frames", 2))
        self.assertEqual(ranks[5].rank_realisations, 5)
        model = tlnmf.fit(V, "1:2", input="power", dof=5)
        self.assertEqual((model["given.dof"], model.rank_table), ("5", ranks[5].rank_table))
        fitted = tlnmf.ISNMF(2, dof=5).fit(V.T)
        self.assertEqual((fitted.model_["given.input"], fitted.model_["given.dof"]), ("power", "5"))
        self.assertEqual(fitted.model_.realisations, 5)
        stack = np.stack([V, V])  # two spectrograms: V is their mean
        self.assertEqual(tlnmf.fit(stack, 2, input="power", dof=1).realisations, 2)
        self.assertAlmostEqual(tlnmf.fit(stack, 2, input="power").C, tlnmf.fit(V, 2, input="power").C, 6)
        self.assertRaises(TypeError, tlnmf.fit, V, 2, dof=2)
        self.assertRaises(ValueError, tlnmf.fit, V, 2, input="power", dof=1.5)

    def test_continuing_a_model_of_powers(self):
        model = tlnmf.fit(self.V, k=2, input="power", dof=4, J=3)
        wanted = tlnmf.fit(self.V, start=model, input="power", dof=4)
        again = tlnmf.fit(self.V, start=model)
        self.assertEqual((again.C, again["given.input"], again["given.dof"]), (wanted.C, "power", "4"))
        self.assertEqual(tlnmf.fit(self.V, start=model, input="power")["given.dof"], "4")
        self.assertEqual(tlnmf.fit(self.V, start=model, dof=6)["given.dof"], "6")
        V = np.tile(self.V, 2)
        self.assertEqual(tlnmf.compare_ranks(V, "1:2", start=model).rank_realisations, 4)
        for Y, options in ((self.V, {"input": "data"}), (tlnmf.Data(self.V), {})):
            with self.assertRaisesRegex(TypeError, 'fitted to powers: pass Y with input="power"'):
                tlnmf.fit(Y, start=model, **options)
        tlnmf.fit(self.V, start={"W": model.W, "H": model.H}, k=2, J=2)

    def test_symmetric_rows_are_scored_as_powers(self):
        model = tlnmf.ISNMF(2, random_state=0).fit(self.V.T)
        same = model.score_samples(self.V.T[[0, 0]])
        self.assertEqual(same[0], same[1])
        self.assertEqual(model.score_samples(np.eye(12)).shape, (12,))

    def test_refusals(self):
        learnt = tlnmf.fit(Y, k=2)
        self.assertRaisesRegex(TypeError, "identity", learnt.apply, Y[0] ** 2, input="power")
        self.assertRaisesRegex(ValueError, r"Y\[1, 0\] is -3", tlnmf.fit, [[1, 2], [-3, 4]], k=1, input="power")
        for wrong in ({"method": "tl"}, {"transform": "dct"}, {"start": {"Phi": -np.eye(12)}}):
            self.assertRaises(TypeError, tlnmf.fit, self.V, k=2, input="power", **wrong)
        self.assertRaises(ValueError, tlnmf.fit, self.V, k=2, input="powers")


class Axes(unittest.TestCase):
    def test_names(self):
        C = tlnmf.fit(Y, k=2, J=20).C
        turned = Y.transpose(2, 0, 1)
        for axes in ("times,epochs,channels", ("time", "trials", "sensors")):
            self.assertEqual(tlnmf.fit(turned, k=2, J=20, axes=axes).C, C)
        self.assertEqual(tlnmf.fit(Y[0].T, k=2, J=9, axes="frames,length").C, tlnmf.fit(Y[0], k=2, J=9).C)
        for wrong in ("times,channels", "times,time,channels", "a,b,c", "epochs,channels,epochs"):
            self.assertRaises(ValueError, tlnmf.fit, Y, k=2, axes=wrong)
        model = tlnmf.JDNMF(2, axes="epochs,channels,times", random_state=1).fit(Y)
        self.assertEqual(model.transform_matrix_.shape, (6, 6))
        self.assertEqual(model.transform(Y).shape, (20, 2))
        self.assertEqual(model.model_.C, tlnmf.fit(Y, k=2, method="jd", starts=1).C)

    def test_warning_for_another_order(self):
        epochs = np.random.RandomState(0).randn(20, 4, 50)
        words = "frames of length 50, but only 4 frames: check the order of the axes"
        with self.assertWarnsRegex(RuntimeWarning, words):
            tlnmf.TLNMF(2, J=1, certify=False).fit(epochs)
        with self.assertWarnsRegex(RuntimeWarning, words):
            tlnmf.fit(epochs.transpose(0, 2, 1), k=2, J=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            tlnmf.fit(epochs, k=2, J=1)
            tlnmf.fit(epochs.transpose(0, 2, 1), k=2, J=1, axes="epochs,time,channels")


class Starts(unittest.TestCase):
    def test_a_model_gives_k_eps_and_method(self):
        model = tlnmf.fit(Y, k=3, method="jd", eps=1e-3)
        again = tlnmf.fit(Y, start=model)
        self.assertEqual((again.K, again.eps, again.method), (3, 1e-3, "jd"))
        other = tlnmf.fit(Y, start=model, eps=1e-2, method="tl")
        self.assertEqual((other.K, other.eps, other.method), (3, 1e-2, "tl"))
        self.assertNotEqual(tlnmf.fit(Y, start=model, eps_rel=0.1).eps, 1e-3)
        fitted = tlnmf.TLNMF(3, start=model, J=2).fit(Y.transpose(0, 2, 1))
        self.assertLessEqual(fitted.model_.C, tlnmf.fit(Y, k=3, method="tl", J=2).C)

    def test_a_model_with_another_k_or_number_of_frames(self):
        model = tlnmf.fit(Y, k=3, method="jd", eps=1e-3)
        with self.assertWarnsRegex(UserWarning, "W and H of the start are not used: its k is 3, not 4"):
            more = tlnmf.fit(Y, k=4, start=model)
        self.assertEqual(more.C, tlnmf.fit(Y, k=4, start={"Phi": model.Phi}, method="jd", eps=1e-3).C)
        N = Y.shape[-1]
        words = f"H of the start is not used: it has {N} frames, the data have {N - 5}"
        with self.assertWarnsRegex(UserWarning, words):
            fewer = tlnmf.fit(Y[..., :-5], start=model)
        self.assertEqual((fewer.K, fewer.N), (3, N - 5))
        X = Y.transpose(0, 2, 1)
        with self.assertWarns(UserWarning):
            tlnmf.TLNMF(2, start=model, J=2, certify=False).fit(X)
        with self.assertRaisesRegex(tlnmf.ShapeError, "W has the shape"):
            tlnmf.fit(Y, k=4, start={"W": model.W})

    def test_a_matrix_is_not_a_start(self):
        words = r'start=\{"Phi": Phi\}, or as transform=Phi'
        self.assertRaisesRegex(TypeError, words, tlnmf.fit, Y, k=2, start=np.eye(6))

    def test_fixed_transform(self):
        Phi = tlnmf.transform_matrix("dct", 6)
        model = tlnmf.fit(Y, k=2, method="nmf", transform=Phi)
        np.testing.assert_array_equal(model.Phi, Phi)
        self.assertEqual(model.C, tlnmf.fit(Y, k=2, method="nmf", transform="dct").C)
        self.assertRaises(TypeError, tlnmf.fit, Y, k=2, transform=Phi, start={"Phi": Phi})
        self.assertRaises(ValueError, tlnmf.fit, Y, k=2, transform=np.eye(5))

    def test_number_of_starts(self):
        """Small problems run starts until three have found the best minimum; estimators run one."""
        model = tlnmf.fit(Y, k=2)
        self.assertEqual(model.starts_completed, model.starts + 1)  # TL-NMF also starts from JD+NMF
        self.assertTrue(model.starts_agree >= 3 or model.starts == 50)
        same = tlnmf.fit(Y, k=2, starts="auto", threads=2)
        self.assertEqual((same.C, same["option.starts"]), (model.C, "auto"))
        for options in (dict(starts=1), dict(start=model), dict(hops=1), dict(solver="paper", J=5)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.assertEqual(tlnmf.fit(Y, k=2, **options).starts, 1)
        self.assertEqual(tlnmf.TLNMF(2).fit(Y.transpose(0, 2, 1)).model_.starts, 1)
        with self.assertRaisesRegex(TypeError, "starts must be of type int or 'auto', not list"):
            tlnmf.fit(Y, k=2, starts=[3])
        with self.assertRaisesRegex(ValueError, "starts = few is not a number or auto"):
            tlnmf.fit(Y, k=2, starts="few")

    def test_sample_weight(self):
        w = np.random.RandomState(0).rand(20) + 0.1
        X = Y.transpose(0, 2, 1)
        model = tlnmf.TLNMF(2, random_state=1).fit(X, sample_weight=w)
        self.assertEqual(model.model_.C, tlnmf.fit(Y, k=2, method="tl", weights=w, starts=1).C)


class Output(unittest.TestCase):
    def test_models_without_some_values(self):
        model = tlnmf.fit(Y, 2, trace=True)

        def without(name, of=model):
            return tlnmf.Model.of({key: of[key] for key in of if key != name})

        self.assertIs(without("outcome").converged, False)
        for name in ("trace.start", "trace.stage", "trace.iteration"):
            self.assertIn(f"the model has no {name}<", without(name)._repr_html_())
        with tempfile.TemporaryDirectory() as folder:
            without("trace.stage").save(folder + "/m.h5")
            self.assertIn("C", tlnmf.load(folder + "/m.h5").history)
        V = Y[0] ** 2
        powers = tlnmf.fit(V, 2, input="power")
        again = tlnmf.fit(V, start=without("outcome", powers), input="power")
        self.assertEqual(again.C, tlnmf.fit(V, start=powers, input="power").C)

    def test_scalars(self):
        model = tlnmf.fit(Y, k=2)
        values = model.scalars()
        self.assertEqual((values["C"], values["K"], values["outcome"]), (model.C, 2, model["outcome"]))
        self.assertNotIn("Phi", values)
        self.assertIs(values["converged"], True)
        self.assertEqual((values["option.k"], values["option.method"]), (2, "auto"))
        self.assertTrue(np.isnan([values["option.hops"], values["option.max-seconds"]]).all())
        self.assertEqual(tlnmf.Model.of({"option.tol": 0.5}).scalars()["option.tol"], 0.5)
        self.assertNotIn("summary", tlnmf.Model.of({"summary": "{}", "outcome": "time"}).scalars())

    def test_one_word_for_convergence(self):
        values = {"outcome": "stationary", "Phi": np.eye(2), "method": "tl"}
        model = tlnmf.Model.of(values)
        self.assertTrue(model.converged)
        self.assertIn("converged", repr(model))
        self.assertIn("converged after", model._repr_html_())
        self.assertIn("iterations", repr(tlnmf.Model.of({**values, "outcome": "iterations"})))

    def test_table_of_ranks(self):
        ranks = tlnmf.compare_ranks(Y, "1:3", method="jd", J=20)
        lines = repr(ranks).splitlines()
        self.assertEqual(len(lines), 6)
        best = [line for line in lines if "*" in line]
        self.assertEqual([int(line.split("*")[0]) for line in best], [ranks.k])

    def test_starts_that_agree(self):
        values = {"method": "tl", "starts": 10, "starts_completed": 11, "starts_agree": 3}
        words = "best C found by 3 of 11 starts, one of them from JD+NMF"
        for other, text in (
            ({}, words),
            ({"starts": 4}, words.replace("one", "some")),
            ({"starts": 20}, "best C found by 3 of 11 completed starts"),
            ({"method": "nmf", "starts": 11}, "best I found by 3 of 11 starts"),
            ({"method": "jd", "starts": 11, "nmf_starts_completed": 4, "nmf_starts_agree": 2},
             "best L found by 3 of 11 starts, best I by 2 of 4 starts of NMF"),
        ):  # fmt: skip
            model = tlnmf.Model.of({**values, **other})
            self.assertTrue(repr(model).endswith(f"; {text}>"), repr(model))
            self.assertIn(f"<th align=left>starts</th><td>{text}</td>", model._repr_html_())
        for other in ({"starts": 1, "starts_completed": 2}, {"starts": 1, "starts_completed": 1}):
            model = tlnmf.Model.of({**values, **other})
            self.assertNotIn("found by", repr(model) + model._repr_html_())

    def test_limits_of_the_choice_of_k(self):
        for data, words in ((Y[:1], "Too few data: with one"), (Y, "Few data: with 5 realisations")):
            ranks = tlnmf.compare_ranks(data, "1:2", method="jd", J=20)
            self.assertTrue(ranks.rank_limits.startswith(words))
            self.assertEqual(repr(ranks).splitlines()[-1], ranks.rank_limits + ".")
            self.assertIn(f"<p>{ranks.rank_limits}.</p>", ranks._repr_html_())
            self.assertEqual(ranks._repr_html_().count("<tr>"), 3)
            model = tlnmf.fit(data, k="1:2", method="jd")
            self.assertIn(f"; choice of k: {ranks.rank_limits}>", repr(model))
            self.assertIn(f"<th align=left>choice of k</th><td>{ranks.rank_limits}</td>", model._repr_html_())
        unlimited = tlnmf.compare_ranks(Y[:1], "1:2", method="nmf", transform="dct")
        self.assertEqual(unlimited.rank_limits, "")
        self.assertEqual(len(repr(unlimited).splitlines()), 4)
        self.assertNotIn("<p>", unlimited._repr_html_())
        self.assertNotIn("choice of k", repr(tlnmf.fit(Y, k=2)))



class Plots(unittest.TestCase):
    def setUp(self):
        try:
            import matplotlib
        except ImportError:
            self.skipTest("no matplotlib")
        matplotlib.use("Agg")
        from matplotlib import pyplot

        self.addCleanup(pyplot.close, "all")

    def test_factors(self):
        top, bottom = tlnmf.plot.factors(tlnmf.fit(Y, k=2))
        self.assertEqual((top.get_xlabel(), bottom.get_xlabel()), ("row of Phi, by energy", "frame"))
        self.assertLess(top.get_xlim()[1], 6)
        self.assertGreater(bottom.get_xlim()[1], 18)
        names = [text.get_text() for text in top.get_legend().get_texts()]
        self.assertEqual(names, ["component 1", "component 2"])
        with self.assertRaisesRegex(TypeError, r"two axes, .* ax=plt.subplots\(2, 1\)\[1\]"):
            tlnmf.plot.factors(tlnmf.fit(Y, k=2), ax=top)

    def test_atoms(self):
        model = tlnmf.fit(Y, k=2)
        self.assertEqual(tlnmf.plot.atoms(model).get_ylabel(), "frequency (cycles per sample)")
        self.assertEqual(tlnmf.plot.atoms(model, rate=100).get_ylabel(), "frequency (Hz)")

    def test_convergence(self):
        model = tlnmf.fit(Y, k=2, method="tl", starts=3, trace_all=True, trace=True)
        ax = tlnmf.plot.convergence(model)
        self.assertEqual(len(ax.lines), 3)
        for line in ax.lines:
            self.assertTrue((np.diff(line.get_xdata()) >= 0).all())  # no line joins two starts
        self.assertEqual(ax.get_ylabel(), "C - smallest C")
        names = [text.get_text() for text in ax.get_legend().get_texts()]
        self.assertEqual(names, [f"start {p}, TL-NMF" for p in (1, 2, 3)])
        self.assertIn("minus its smallest value", tlnmf.plot.convergence.__doc__)
        one = tlnmf.fit(Y, k=2, method="tl", starts=3, trace=True)
        self.assertEqual(len(tlnmf.plot.convergence(one).lines), 1)
        row = "convergence</th><td>(.*?)</td>"
        shown = [re.search(row, m._repr_html_())[1] for m in (model, one)]
        self.assertEqual(*shown)
        only_L = tlnmf.joint_diagonalize(np.einsum("smn,skn->nmk", Y, Y), trace=True)[1]
        self.assertEqual(tlnmf.plot.convergence(only_L).get_ylabel(), "L - smallest L")

    def test_lines_of_both_methods(self):
        from matplotlib.colors import to_hex

        model = tlnmf.fit(Y, k=2, starts=12, trace_all=True, trace=True)  # JD+NMF, then TL-NMF
        ax = tlnmf.plot.convergence(model)
        looks = {(to_hex(line.get_color()), line.get_linestyle()) for line in ax.lines}
        self.assertEqual((len(ax.lines), len(looks)), (25, 25))
        names = [text.get_text() for text in ax.get_legend().get_texts()]
        self.assertEqual(sorted(names), ["NMF", "TL-NMF", "TL-NMF from JD+NMF"])
        few = tlnmf.plot.convergence(tlnmf.fit(Y, k=2, starts=2, trace_all=True, trace=True))
        names = [text.get_text() for text in few.get_legend().get_texts()]
        self.assertEqual(names[0::2], ["start 1, TL-NMF", "start 2, TL-NMF", "TL-NMF from JD+NMF"])
        self.assertEqual(names[1::2], ["start 1, NMF", "start 2, NMF"])
        few.figure.canvas.draw()
        self.assertFalse(few.get_window_extent().overlaps(few.get_legend().get_window_extent()))


class Refusals(unittest.TestCase):
    def wrong(self, Y, error, words, **options):
        with self.assertRaisesRegex(error, words):
            tlnmf.fit(Y, 2, **options)

    def test_bad_arrays(self):
        nan = Y.copy()
        nan[1, 2, 3] = np.nan
        self.wrong(nan, ValueError, "finite|NaN|nan")
        self.wrong(Y + 0j, ValueError, "[Cc]omplex")
        self.wrong(Y.astype(object), TypeError, "dtype object")
        self.wrong([["a", "b"]], TypeError, "dtype <U1")
        self.wrong(Y[0, 0], ValueError, "1 dimensions")
        self.wrong(Y[None], ValueError, "4 dimensions")
        self.wrong(3.0, ValueError, "0 dimensions")
        self.wrong(np.empty((0, 5)), ValueError, "M|0")
        self.wrong(np.empty((5, 0)), ValueError, "N|0")
        self.wrong(np.ma.masked_less(Y, 0), ValueError, "masked")
        for kind in (tlnmf.TLNMF, tlnmf.ISNMF):  # np.asarray() would drop the mask
            with self.assertRaisesRegex(ValueError, "masked"):
                kind(n_components=2).fit(np.ma.masked_greater(np.abs(Y[0]), 1.0))
        self.wrong(np.zeros((3, 4)), ValueError, "all zeros")
        self.wrong(Y, ValueError, "NUL", method="nmf\0garbage")
        with self.assertRaisesRegex(ValueError, "NUL|null byte"):
            tlnmf.load("m.h5\0.png")
        self.wrong(None, TypeError, "Y or covariances")
        self.wrong(None, ValueError, "must have 3", covariances=np.eye(3))
        self.wrong(None, ValueError, "", covariances=np.ones((2, 3, 4)))
        self.wrong(None, ValueError, "", covariances=-np.eye(3)[None])
        self.wrong(Y, ValueError, "Phi|orthogonal|shape", start={"Phi": np.eye(3)})

    def test_complex(self):
        for call in (lambda: tlnmf.fit(1j * Y, k=2), lambda: tlnmf.TLNMF(2).fit(1j * Y[0])):
            self.assertRaisesRegex(ValueError, r"two realisations, np.stack", call)

        C = np.einsum("smn,skn->nmk", Y, Y) * (1 + 0j)
        for call in (tlnmf.joint_diagonalize, tlnmf.ajd, tlnmf.JointDiagonalizer().fit):
            self.assertRaisesRegex(ValueError, r"the real part, .*np.block", call, C)

    def test_nearly_symmetric(self):
        C = np.einsum("smn,skn->nmk", Y, Y)
        C[3, 1, 2] += 1e-4 * C[3].max()
        for y, place in ((C, "slice 3 of"), (C.transpose(1, 2, 0), "slice 3 along the last axis of")):
            words = place + r" Y is not symmetric: entries \(1, 2\) and \(2, 1\) differ .*swapaxes.*input"
            for call in (lambda: tlnmf.fit(y, k=2, J=1), lambda: tlnmf.Data(y)):
                self.assertRaisesRegex(tlnmf.DataError, words, call)
        self.assertRaisesRegex(tlnmf.DataError, "is not symmetric", tlnmf.joint_diagonalize, C)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            tlnmf.Data(C, input="data")
            tlnmf.Data(np.random.RandomState(0).randn(9, 6, 6))

    def test_nul(self):
        self.assertRaisesRegex(ValueError, "NUL", tlnmf.fit, Y, k=2, method="tl\0x")
        self.assertRaisesRegex(ValueError, "NUL", tlnmf.Record.of, {"a": "b\0c"})

    def test_integers_of_more_than_64_bits(self):
        self.assertEqual(tlnmf.Record.of({"x": 2**63 - 1})["x"], 2**63 - 1)
        for work in (
            lambda: tlnmf.Record.of({"x": 2**64 + 5}),
            lambda: tlnmf.Record.of({"x": -(2**63) - 1}),
            lambda: tlnmf.Data(Y, block=2**64 + 2),
            lambda: tlnmf.Data(Y[0] ** 2, input="power", dof=2**64 + 2),
            lambda: tlnmf.compare_ranks(Y, f"1:{2**64 + 2}"),
        ):
            with self.assertRaisesRegex(OverflowError, " = .* does not fit 64 bits"):
                work()

    def test_single_precision(self):
        C = np.einsum("smn,skn->nmk", Y, Y)
        C[0, 0, 1] += 1e-7 * C[0].max()
        with self.assertWarnsRegex(RuntimeWarning, "only to .*e-0[78]") as caught:
            tlnmf.Data(covariances=C)
        self.assertEqual(caught.filename, __file__)


class Pages(unittest.TestCase):
    def test_the_page_states_what_was_fitted_to_what(self):
        page = tlnmf.fit(Y, 2, method="tl").report().html
        self.assertIn("<title>TL-NMF with 2 components</title>", page)
        self.assertIn("The data (20 frames of length 6, 5 realisations) were", page)
        self.assertIn("<title>NMF with 1 component</title>", tlnmf.fit(Y, 1, method="nmf").report().html)
        power = tlnmf.fit(Y[0] ** 2, 2, input="power", dof=2).report().html
        self.assertIn("The data (20 frames of length 6) were", power)


if __name__ == "__main__":
    unittest.main()
