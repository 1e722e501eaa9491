"""scikit-learn's own checks of estimators, pipelines, searches, clones, pandas, librosa's decompose."""
import pickle
import sys
import tempfile
import unittest
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import tlnmf

ESTIMATORS = (tlnmf.TLNMF, tlnmf.JDNMF, tlnmf.ISNMF)
X = np.array(tlnmf.simulate.gcm(s=1, m=6, n=40, kbar=2).Y[0].T)


def decompose(S, transformer, fit=True):
    """As documented for librosa.decompose.decompose: S is close to components @ activations."""
    activations = (transformer.fit_transform if fit else transformer.transform)(S.T).T
    return transformer.components_.T, activations


try:
    from librosa.decompose import decompose as librosa_decompose
except ImportError:
    print("no librosa: its decompose is stood in for by the calls that it documents", file=sys.stderr)
else:

    def decompose(S, transformer, fit=True):
        return librosa_decompose(S, transformer=transformer, fit=fit)


class Checks(unittest.TestCase):
    def test_check_estimator(self):
        for kind in ESTIMATORS:
            done = 0
            for estimator, check in check_estimator(kind(), generate_only=True):
                name = getattr(check, "func", check).__name__
                if name in estimator._more_tags()["_xfail_checks"]:
                    continue
                with self.subTest(f"{kind.__name__}: {name}"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    check(estimator)
                done += 1
            print(f"{kind.__name__}: {done} checks", file=sys.stderr)
            self.assertGreater(done, 30)


class Manners(unittest.TestCase):
    def test_parameters(self):
        model = tlnmf.TLNMF(3, eps=5e-7, random_state=0)
        self.assertEqual(repr(model), "TLNMF(n_components=3, eps=5e-07, random_state=0)")
        self.assertEqual(clone(model).get_params(), model.get_params())
        self.assertRaises(ValueError, model.set_params, rank=3)
        self.assertRaises(TypeError, tlnmf.TLNMF, rank=3)
        self.assertRaises(NotFittedError, model.transform, X)

    def test_rows_are_frames(self):
        model = tlnmf.TLNMF(2, random_state=4).fit(X)
        same = tlnmf.fit(X.T, 2, seed=4, method="tl", starts=1)
        np.testing.assert_array_equal(model.transform_matrix_, same.Phi)
        np.testing.assert_array_equal(model.components_, same.W.T)
        np.testing.assert_array_equal(model.activations_, same.H.T)
        self.assertEqual(model.reconstruction_err_, same.I)
        self.assertEqual(model.stop_reason_, same.outcome)
        several = tlnmf.TLNMF(2).fit(np.stack([X, -X, 2 * X]))
        self.assertEqual(several.activations_.shape, (40, 2))

    def test_transform_is_a_minimum_of_each_row(self):
        model = tlnmf.TLNMF(2).fit(X)
        H = model.transform(X[:5])
        again = tlnmf.apply(model.model_, X[:5].T)
        point = {"Phi": model.model_.Phi, "W": model.model_.W, "H": H.T, "eps": model.model_.eps}
        self.assertLessEqual(tlnmf.evaluate(X[:5].T, point).C, again.C + 1e-6)
        np.testing.assert_array_equal(H, model.transform(X)[:5])
        silent = model.transform(np.zeros((2, 6)))
        np.testing.assert_array_equal(silent, 0.0)

    def test_rows_whose_power_underflows(self):
        """fit accepts them, so transform does; eps hides them."""
        for tiny in (1e-150, 1e-155, 1e-160, 5e-324):
            Z = X.copy()
            Z[3] = tiny
            for estimator, rows in ((tlnmf.TLNMF(2), Z), (tlnmf.ISNMF(2), Z**2)):
                H = estimator.fit(rows).transform(rows)
                np.testing.assert_array_equal(H[3], 0.0)
                self.assertTrue(H[2].any())
                zero = estimator.score(np.zeros((1, rows.shape[1])))
                self.assertAlmostEqual(estimator.score(rows[3:4]), zero, 9)
        for work in (tlnmf.ISNMF(2).fit, lambda x: tlnmf.fit(x.T, 2, input="power")):
            with self.assertRaisesRegex(ValueError, "powers do not fit a double .*1e-310"):
                work(np.full((20, 5), 1e-310))

    def test_score_integrates_activations_out(self):
        """Compared with the trapezoidal rule over log h, K = 2."""
        model = tlnmf.TLNMF(2, eps=1e-3, random_state=0).fit(np.stack([X, X[::-1]]))
        W, eps, mu = model.components_.T, 1e-3, model.activations_.mean(axis=0)
        axis = [np.log(m) + np.linspace(-12, 4, 321) for m in mu]
        g = np.stack(np.meshgrid(*axis, indexing="ij"))
        h = np.exp(g)
        v = np.einsum("mk,kab->mab", W, h) + eps
        prior = (g - np.log(mu)[:, None, None] - h / mu[:, None, None]).sum(0)
        for rows in (X[:6], np.stack([X[:6], -X[:6], 0 * X[:6]])):
            got = model.score_samples(rows)
            for n in range(6):
                y = np.atleast_3d(rows)[..., n, :] if rows.ndim == 3 else rows[n : n + 1]
                S, V = len(y), ((y @ model.transform_matrix_.T) ** 2).mean(axis=0) + eps
                C = (V[:, None, None] / v + np.log(2 * np.pi * v)).sum(0)
                log = prior - 0.5 * S * C
                top = log.max()
                want = (top + np.log(np.exp(log - top).sum() * (16 / 320) ** 2)) / S
                self.assertAlmostEqual(got[n], want, delta=6 * 0.01)
        self.assertAlmostEqual(model.score(X), model.score_samples(X).mean())
        np.testing.assert_allclose(model.score_samples(X)[7:9], model.score_samples(X[7:9]))
        zeros = model.score_samples(np.zeros((2, 6)))
        self.assertTrue(zeros[0] == zeros[1] > model.score(X))

    def test_score_of_powers(self):
        model = tlnmf.ISNMF(2, random_state=0).fit(X**2)
        again = clone(model).set_params(dof=1).fit(X**2)
        self.assertEqual((model.dof, again.model_["C"]), (2, model.model_["C"]))
        twice = again.score_samples(np.stack([X**2, X**2]))
        np.testing.assert_allclose(model.score_samples(X**2), twice)
        self.assertNotEqual(again.score(X**2), model.score(X**2))
        self.assertRaisesRegex(ValueError, "dof = 0", clone(model).set_params(dof=0).fit, X**2)

    def test_search_finds_k(self):
        """More components fit test rows better, but do not predict them better."""
        rng = np.random.default_rng(5)
        W, H = rng.dirichlet(np.full(12, 0.3), size=2), rng.exponential(size=(300, 2))
        V = H @ W * rng.chisquare(2, size=(300, 12)) / 2
        search = GridSearchCV(tlnmf.ISNMF(random_state=0, threads=1, trace=False),
                              {"n_components": [1, 2, 4]}, cv=3).fit(V)  # fmt: skip
        self.assertEqual(search.best_params_, {"n_components": 2})

    def test_search_over_frames_finds_k(self):
        """With a learnt transform and frames held out, as in compare_ranks."""
        for S, seed in ((10, 5105), (10, 5106), (40, 5107)):
            Y = tlnmf.simulate.gcm(s=S, m=16, n=100, kbar=3, seed_truth=seed, seed_data=seed).Y
            model = tlnmf.TLNMF(axes="frames,realisations,length", random_state=0, threads=1,
                                trace=False, certify=False)  # fmt: skip
            search = GridSearchCV(model, {"n_components": [1, 2, 3, 4]}, refit=False,
                                  cv=KFold(5, shuffle=True, random_state=0))  # fmt: skip
            search.fit(Y.transpose(2, 0, 1))
            self.assertEqual(search.best_params_, {"n_components": 3})
            self.assertEqual(tlnmf.compare_ranks(Y, "1:4", threads=1).k, 3)

    def test_a_search_is_not_an_n_components(self):
        for estimator, advice in ((tlnmf.TLNMF, "auto.*exchanged"), (tlnmf.ISNMF, 'input="power"')):
            for k in ("auto", "1:3", range(1, 3)):
                for rows in (X, 0 * X, np.stack([X, X])):
                    with self.assertRaisesRegex(ValueError, f"(?s)n_components = .*{advice}"):
                        estimator(k).fit(rows**2)
        self.assertIn(tlnmf.compare_ranks(X.T, "auto", J=20).k, range(1, 40))

    def test_pipeline_and_search(self):
        search = GridSearchCV(tlnmf.JDNMF(J=50), {"n_components": [1, 2]}, cv=2).fit(X)
        self.assertIn(search.best_params_["n_components"], (1, 2))
        self.assertEqual(make_pipeline(StandardScaler(), tlnmf.TLNMF(2)).fit_transform(X).shape,
                         (40, 2))  # fmt: skip

    def test_pickle(self):
        for kind in ESTIMATORS:
            model = kind(2).fit(X**2)
            again = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(again.transform(X**2), model.transform(X**2))

    def test_nonnegative(self):
        V = X**2 + 1e-3
        model = tlnmf.ISNMF(2).fit(V)
        estimate = model.inverse_transform(model.transform(V))
        self.assertEqual(estimate.shape, V.shape)
        divergence = lambda A: np.sum(V / A - np.log(V / A) - 1)
        self.assertLess(divergence(estimate + model.model_.eps), divergence(V.mean() + 0 * V))
        self.assertRaisesRegex(ValueError, r"Negative values.*X\[", tlnmf.ISNMF().fit, X)

    def test_transformer_of_librosa(self):
        """Components of a spectrogram S (frequencies x frames), and activations with known components."""
        rng = np.random.RandomState(1)
        W, H = rng.gamma(1.0, size=(9, 2)), rng.gamma(1.0, size=(2, 60))
        S = W @ H
        model = tlnmf.ISNMF(2, random_state=0, starts=5, grad_tol=1e-12)
        components, activations = decompose(S, model)
        self.assertEqual((components.shape, activations.shape), ((9, 2), (2, 60)))
        np.testing.assert_allclose(components @ activations, S, rtol=1e-3)
        kept, other = decompose(3 * S[:, :7], model, fit=False)
        np.testing.assert_array_equal(kept, components)
        np.testing.assert_allclose(kept @ other, 3 * S[:, :7], rtol=1e-3)
        for kind in (tlnmf.TLNMF, tlnmf.JDNMF):  # frames of a signal as columns
            components, activations = decompose(X.T, kind(2, random_state=0))
            self.assertEqual((components.shape, activations.shape), ((6, 2), (2, 40)))

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        frame = pandas.DataFrame(X, columns=list("abcdef"), index=np.arange(100, 140))
        model = tlnmf.TLNMF(2).fit(frame)
        self.assertEqual(list(model.feature_names_in_), list("abcdef"))
        out = model.set_output(transform="pandas").transform(frame)
        self.assertEqual(list(out.columns), ["tlnmf0", "tlnmf1"])
        self.assertEqual(list(out.index), list(frame.index))
        self.assertRaises(ValueError, model.transform, frame[list("bacdef")])
        piped = make_pipeline(StandardScaler(), tlnmf.JDNMF(2)).set_output(transform="pandas")
        self.assertEqual(piped.fit_transform(frame).shape, (40, 2))

    def test_history_and_certificate(self):
        Y = tlnmf.simulate.gcm(s=50, m=6, n=40, kbar=2).Y
        for kind in (tlnmf.TLNMF, tlnmf.JDNMF):
            model = kind(2, random_state=0).fit(Y.transpose(0, 2, 1))
            self.assertEqual(len(model.history_["C"]), len(model.history_["seconds"]))
            self.assertGreater(len(model.history_["L"]), 1)
            self.assertGreater(model.certificate_, 0)
            self.assertEqual(model.certificate_reason_, "")
        without = tlnmf.TLNMF(2, random_state=0, trace=False, certify=False).fit(X)
        self.assertEqual(without.history_, {})
        self.assertIn("option certify", without.certificate_reason_)
        doubted = tlnmf.TLNMF(2, eps=5e-7, random_state=0).fit(X)
        np.testing.assert_equal(doubted.certificate_, np.nan)
        self.assertIn("singular", doubted.certificate_reason_)
        self.assertIn("learnt transform", tlnmf.ISNMF(2).fit(X**2).certificate_reason_)

    def test_functions_take_estimators(self):
        model = tlnmf.TLNMF(2, random_state=0).fit(X)
        V = tlnmf.apply(model, X.T, keep_v=True).V
        np.testing.assert_array_equal(V, tlnmf.apply(model.model_, X.T, keep_v=True).V)
        with tempfile.TemporaryDirectory() as folder:
            page = model.report(folder + "/page.html", V, title="notes")
            with open(page.path, encoding="utf-8") as file:
                self.assertEqual(file.read(), page.html)
        self.assertIn("2 components", tlnmf.report(model).html)
        self.assertEqual(tlnmf.evaluate(X.T, model).C, tlnmf.evaluate(X.T, model.model_).C)
        self.assertLessEqual(tlnmf.fit(X.T, 2, start=model).C, model.model_.C + 1e-9)
        for function in (tlnmf.TLNMF().report, lambda: tlnmf.report(tlnmf.TLNMF()),
                         lambda: tlnmf.apply(tlnmf.TLNMF(), X.T)):  # fmt: skip
            self.assertRaises(NotFittedError, function)
        self.assertRaisesRegex(TypeError, "not a str", tlnmf.report, "model.h5")

    def test_html(self):
        shown = tlnmf.TLNMF(2).fit(X)._repr_html_()
        self.assertTrue(shown.startswith("<table>"))
        self.assertEqual(shown.count("<svg"), 5)  # convergence, four atoms
        self.assertIn("TLNMF", tlnmf.TLNMF()._repr_html_())


if __name__ == "__main__":
    unittest.main()
