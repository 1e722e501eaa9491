"""The forms of input: missing values, powers, named axes, starts, fixed transforms, refusals."""
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

    def test_an_omitted_frame_does_not_count(self):
        wild = HOLES.copy()
        wild[0, 1:, 3] = 1e6  # next to the NaN
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(tlnmf.fit(wild, k=2, missing=True).C, tlnmf.fit(HOLES, k=2, missing=True).C)


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
    def test_scalars(self):
        model = tlnmf.fit(Y, k=2)
        values = model.scalars()
        self.assertEqual((values["C"], values["K"], values["outcome"]), (model.C, 2, model["outcome"]))
        self.assertNotIn("Phi", values)

    def test_table_of_ranks(self):
        ranks = tlnmf.compare_ranks(Y, "1:3", method="jd", J=20)
        lines = repr(ranks).splitlines()
        self.assertEqual(len(lines), 5)
        best = [line for line in lines if "*" in line]
        self.assertEqual([int(line.split("*")[0]) for line in best], [ranks.k])

    def test_axes_of_factors(self):
        try:
            import matplotlib
        except ImportError:
            self.skipTest("no matplotlib")
        matplotlib.use("Agg")
        top, bottom = tlnmf.plot.factors(tlnmf.fit(Y, k=2))
        self.assertEqual((top.get_xlabel(), bottom.get_xlabel()), ("row of Phi, by energy", "frame"))
        self.assertLess(top.get_xlim()[1], 6)
        self.assertGreater(bottom.get_xlim()[1], 18)


class Refusals(unittest.TestCase):
    def test_complex(self):
        for call in (lambda: tlnmf.fit(1j * Y, k=2), lambda: tlnmf.TLNMF(2).fit(1j * Y[0])):
            self.assertRaisesRegex(ValueError, r"two realisations, np.stack", call)

    def test_nul(self):
        self.assertRaisesRegex(ValueError, "NUL", tlnmf.fit, Y, k=2, method="tl\0x")
        self.assertRaisesRegex(ValueError, "NUL", tlnmf.Record.of, {"a": "b\0c"})

    def test_single_precision(self):
        C = np.einsum("smn,skn->nmk", Y, Y)
        C[0, 0, 1] += 1e-7 * C[0].max()
        with self.assertWarnsRegex(RuntimeWarning, "only to .*e-0[78]") as caught:
            tlnmf.Data(covariances=C)
        self.assertEqual(caught.filename, __file__)


if __name__ == "__main__":
    unittest.main()
