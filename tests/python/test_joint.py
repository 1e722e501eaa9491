"""Joint diagonalisation on the test problems of public packages: shapes, exact and noisy mixtures,
weights, starts, matrices that must be refused."""
import os
import subprocess
import tempfile
import unittest

import numpy as np

import tlnmf


def mixtures(n, p, orthogonal=False, noise=0.0, seed=42):
    """n covariances A D A' of a random mixing matrix A, and A."""
    rng = np.random.RandomState(seed)
    A = rng.randn(p, p)
    if orthogonal:
        A = np.linalg.qr(A)[0]
    C = np.array([A @ np.diag(d) @ A.T for d in rng.uniform(0.05, 1.0, size=(n, p))])
    for c in C:
        E = rng.randn(p, 4 * p)
        c += noise * E @ E.T / (4 * p)
    return (C + C.transpose(0, 2, 1)) / 2, A


def leak(G):
    """The second largest entry of each row of |G|, relative to the largest: 0 for a scaled permutation."""
    G = np.sort(np.abs(G) / np.abs(G).max(axis=1, keepdims=True), axis=1)
    return G[:, -2].max()


class Problems(unittest.TestCase):
    def test_exact_mixtures(self):
        for n, p in ((10, 3), (5, 3), (30, 8), (40, 20)):
            for orthogonal in (False, True):
                for weighted in (False, True):
                    with self.subTest((n, p, orthogonal, weighted)):
                        C, A = mixtures(n, p, orthogonal)
                        w = np.random.RandomState(0).uniform(0.1, 1, n) if weighted else None
                        V, D = tlnmf.ajd(C, sample_weight=w, tol=1e-12)
                        self.assertEqual((V.shape, D.shape), ((p, p), (n, p, p)))
                        self.assertLess(leak(V @ A), 1e-5)
                        if orthogonal:
                            Phi, _ = tlnmf.joint_diagonalize(C, w, grad_tol=1e-12, tol=0)
                            self.assertLess(leak(Phi @ A), 1e-5)
                            np.testing.assert_allclose(Phi @ Phi.T, np.eye(p), atol=1e-10)

    def test_noise_costs_in_proportion(self):
        for noise, most in ((1e-3, 0.05), (1e-2, 0.3)):
            C, A = mixtures(50, 5, noise=noise)
            V, D = tlnmf.ajd(C)
            self.assertLess(leak(V @ A), most)
            off = D - np.einsum("nii,ij->nij", D, np.eye(5))
            self.assertLess(np.abs(off).max(), 0.5)

    def test_weights(self):
        C, _ = mixtures(5, 3, noise=0.05)
        V, D = tlnmf.ajd(C)
        Vw, _ = tlnmf.ajd(C, sample_weight=np.full(5, 2.0))
        np.testing.assert_allclose(np.abs(V), np.abs(Vw), atol=1e-6)
        w = np.array([1e-12, 2, 2, 2, 2])
        few, _ = tlnmf.ajd(C[1:], sample_weight=w[1:])
        most, _ = tlnmf.ajd(C, sample_weight=w)
        self.assertLess(leak(most @ np.linalg.inv(few)), 1e-4)
        for bad in (-np.ones(5), np.zeros(5), np.ones(4), np.full(5, np.nan)):
            self.assertRaises(ValueError, tlnmf.ajd, C, sample_weight=bad)
            self.assertRaises(ValueError, tlnmf.joint_diagonalize, C, bad)

    def test_starts(self):
        C, A = mixtures(5, 3)
        V, _ = tlnmf.ajd(C, init=np.linalg.inv(A))
        self.assertLess(leak(V @ A), 1e-5)
        for bad in (np.ones((3, 2, 2)), np.ones((3, 2)), np.ones((2, 2))):
            self.assertRaises(ValueError, tlnmf.ajd, C, init=bad)
        self.assertRaises(ValueError, tlnmf.joint_diagonalize, C, start=np.ones((3, 3)))

    def test_refused(self):
        rng = np.random.RandomState(42)
        x = rng.randn(10, 2, 2)
        swap = np.array([[[0.0, 1.0], [1.0, 0.0]]] * 3)  # eigenvalues 1 and -1
        for bad in (rng.randn(10, 2), rng.randn(10, 2, 3), x, swap):
            self.assertRaises(ValueError, tlnmf.joint_diagonalize, bad)
        self.assertRaisesRegex(
            ValueError, "rank 1 of 3", tlnmf.joint_diagonalize, np.ones((4, 3, 3)), whiten=True
        )

    def test_shapes_of_something_else(self):
        calls = (tlnmf.joint_diagonalize, tlnmf.ajd, tlnmf.JointDiagonalizer().fit)
        epochs, C = np.random.RandomState(0).randn(20, 8, 100), mixtures(60, 8)[0]
        for call, name in zip(calls, "CXX"):
            words = rf"covariances are \(N, M, M\).*pass {name} @ {name}.swapaxes\(1, 2\) / {name}.shape"
            self.assertRaisesRegex(ValueError, words, call, epochs)
            words = f'axes="channels,channels,epochs" or np.moveaxis.{name}, 2, 0'
            self.assertRaisesRegex(ValueError, words, call, C.transpose(1, 2, 0))
        words = r"pass np.moveaxis\(covariances, 1, 0\)"
        self.assertRaisesRegex(ValueError, words, tlnmf.Data, covariances=C.transpose(1, 0, 2))
        tlnmf.JointDiagonalizer().fit(epochs @ epochs.swapaxes(1, 2) / epochs.shape[2])

    def test_estimator(self):
        C, A = mixtures(20, 4)
        model = tlnmf.JointDiagonalizer(random_state=3).fit(C)
        np.testing.assert_allclose(model.inverse_transform(model.transform(C)), C, atol=1e-10)
        signals = np.random.RandomState(0).randn(20, 4, 50)
        np.testing.assert_allclose(model.transform(signals), model.filters_ @ signals)
        self.assertEqual(model.get_params()["random_state"], 3)
        self.assertEqual(tlnmf.JointDiagonalizer(**model.get_params()).random_state, 3)
        self.assertRaises(ValueError, tlnmf.JointDiagonalizer().transform, C)


class Whitening(unittest.TestCase):
    def test_results_are_saved(self):
        C, _ = mixtures(20, 4)
        filters, info = tlnmf.joint_diagonalize(C, whiten=True)
        self.assertEqual(info["option.whiten"], "1")
        np.testing.assert_array_equal(info.unmixing, filters)
        np.testing.assert_allclose(info.unmixing @ info.mixing, np.eye(4), atol=1e-12)
        with tempfile.TemporaryDirectory() as folder:
            info.save(f"{folder}/m.npz")
            np.testing.assert_array_equal(tlnmf.load(f"{folder}/m.npz").unmixing, filters)

    def test_the_program_has_the_same_bits(self):
        program = os.path.join(os.environ.get("TLNMF_LIBRARY", ""), "tlnmf")
        if not os.access(program, os.X_OK):
            self.skipTest("no program next to the library")
        _, A = mixtures(20, 5)
        D = np.array([A[:, :4] @ np.diag(d) @ A[:, :4].T for d in np.random.RandomState(1).rand(20, 4)])
        for C, rank, words in ((mixtures(20, 5)[0], None, ()), (D, "auto", ("--rank-reduce", "auto"))):
            with tempfile.TemporaryDirectory() as folder:
                np.save(f"{folder}/C.npy", C)
                command = [program, "jd", "C.npy", "--whiten", *words, "-q", "-o", "m.h5"]
                subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
                saved = tlnmf.load(f"{folder}/m.h5").unmixing
            np.testing.assert_array_equal(saved, tlnmf.joint_diagonalize(C, whiten=True, rank=rank)[0])


class LowerRank(unittest.TestCase):
    def test_average_reference(self):
        _, A = mixtures(20, 5)
        L = np.eye(5) - 1 / 5
        G = L @ A[:, :4]
        D = np.array([G @ np.diag(d) @ G.T for d in np.random.RandomState(1).rand(20, 4) + 0.05])
        with self.assertRaisesRegex(ValueError, "rank 4 of 5.*; use rank 4 to keep"):
            tlnmf.joint_diagonalize(D, whiten=True)
        for rank in ("auto", 4):
            V, info = tlnmf.joint_diagonalize(D, whiten=True, rank=rank)
            self.assertEqual(V.shape, (4, 5))
            self.assertLess(leak(V @ G), 1e-2)
        model = tlnmf.JointDiagonalizer(rank=3).fit(D)
        self.assertEqual((model.filters_.shape, model.patterns_.shape), ((3, 5), (5, 3)))
        np.testing.assert_allclose(model.filters_ @ model.patterns_, np.eye(3), atol=1e-10)
        self.assertEqual(model.transform(D).shape, (20, 3, 3))
        self.assertRaisesRegex(
            ValueError, "rank = 5 exceeds the rank .*, 4", tlnmf.joint_diagonalize, D, whiten=True, rank=5
        )
        self.assertRaises(TypeError, tlnmf.joint_diagonalize, D, rank=4)

    def test_axes(self):
        A = np.random.RandomState(3).randn(4, 4)
        X = np.array([A @ np.diag(d) @ A.T for d in np.random.RandomState(4).rand(7, 4) + 0.1])
        last, words = np.moveaxis(X, 0, 2), "channels,channels,epochs"
        want = tlnmf.joint_diagonalize(X, whiten=True)[0]
        np.testing.assert_array_equal(tlnmf.joint_diagonalize(last, whiten=True, axes=words)[0], want)
        np.testing.assert_array_equal(tlnmf.ajd(last, axes=words)[0], tlnmf.ajd(X)[0])
        turned = tlnmf.JointDiagonalizer(axes=words)
        D = turned.fit_transform(last)
        np.testing.assert_array_equal(D, tlnmf.JointDiagonalizer().fit_transform(X))
        np.testing.assert_allclose(turned.inverse_transform(D), X, atol=1e-9)
        self.assertEqual(turned.transform(np.ones((2, 4, 9))).shape, (2, 4, 9))
        for wrong in ("epochs,channels", "epochs,channels,times", "channels,channels,channels", "a,b,c"):
            self.assertRaises(ValueError, tlnmf.joint_diagonalize, last, axes=wrong)

    def test_rank_of_ajd(self):
        C, _ = mixtures(20, 5)
        L = np.eye(5) - 1 / 5
        D = L @ C @ L
        self.assertRaisesRegex(ValueError, "use rank 4 to keep", tlnmf.ajd, D)
        V, E = tlnmf.ajd(D, rank="auto")
        self.assertEqual((V.shape, E.shape), ((4, 5), (20, 4, 4)))
        np.testing.assert_allclose(V, tlnmf.joint_diagonalize(
            D, whiten=True, rank=4, grad_tol=1e-7, J=1000)[0], atol=1e-6)  # fmt: skip
        again, _ = tlnmf.ajd(D, init=V, rank=4)
        np.testing.assert_allclose(np.abs(again), np.abs(V), atol=1e-5)
        self.assertRaisesRegex(ValueError, r"it must have \(4, 5\)", tlnmf.ajd, D, init=np.eye(5), rank=4)

    def test_tolerance_of_ajd(self):
        C, _ = mixtures(5, 3)
        with self.assertWarnsRegex(DeprecationWarning, "called tol") as caught:
            V, _ = tlnmf.ajd(C, eps=1e-5)
        self.assertEqual(caught.filename, __file__)
        np.testing.assert_array_equal(V, tlnmf.ajd(C, tol=1e-5)[0])
        self.assertNotIn("ajd_pham", tlnmf.ajd.__doc__.splitlines()[0])

    def test_limits_have_the_names_of_the_parameters(self):
        C, _ = mixtures(20, 5)
        words = "^{0} = 2 iterations were not enough to converge; use a larger {0}$"
        with self.assertWarnsRegex(UserWarning, words.format("n_iter_max")) as caught:
            tlnmf.ajd(C, n_iter_max=2)
        self.assertEqual((caught.filename, len(caught.warnings)), (__file__, 1))
        with self.assertWarnsRegex(UserWarning, words.format("J")):
            tlnmf.JointDiagonalizer(J=2).fit(C)

    def test_a_transform_alone_has_no_C(self):
        info = tlnmf.joint_diagonalize(mixtures(5, 3)[0])[1]
        self.assertRegex(repr(info), r"^<Model: method = jd, M = 3, N = 5; L = \S+; converged>$")
        self.assertIn("<caption>jd: M = 3, N = 5</caption>", info._repr_html_())


if __name__ == "__main__":
    unittest.main()
