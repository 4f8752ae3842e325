"""Writes baselines.json: what scikit-learn 1.9.1 predicts for its digits (digits.csv.gz, copied from its wheel).

Run: python make_baselines.py. Test images are those whose number leaves 2 on division by 3; features are levels over 16.
"""

import gzip
import json

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

assert sklearn.__version__ == "1.9.1", sklearn.__version__
rows = np.loadtxt(gzip.open("digits.csv.gz"), delimiter=",", dtype=int)
x, y = rows[:, :64] / 16, rows[:, 64]
test = np.arange(len(y)) % 3 == 2
train = ~test
made = {"counts": np.bincount(y).tolist(), "neighbours": {}, "linear": {}}


def text(labels):
    return "".join(map(str, labels))


# Squared distances of whole numbers: exact.
whole = rows[:, :64]
distances = ((whole[test][:, None] - whole[train][None]) ** 2).sum(2)
for k in (1, 3, 4, 10):
    predicted = KNeighborsClassifier(k, algorithm="brute").fit(x[train], y[train]).predict(x[test])
    ranked = np.sort(distances, 1)
    tied = np.flatnonzero(ranked[:, k - 1] == ranked[:, k])
    # Ties by the smaller number, as the crate has it; the vote by the smaller label, as both have it.
    nearest = y[train][np.argsort(distances, 1, kind="stable")[:, :k]]
    by_rule = np.array([np.bincount(labels).argmax() for labels in nearest])
    print(f"k = {k}: accuracy {np.mean(predicted == y[test]):.6f}, {len(tied)} test images with a tie at the last place")
    assert (by_rule == predicted).all()
    made["neighbours"][k] = text(predicted)

for ridge in (1e-2, 1e-4):
    n = train.sum()
    model = LogisticRegression(C=1 / (ridge * n), solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(x[train], y[train])
    loss = log_loss(y[train], model.predict_proba(x[train])) + ridge / 2 * (model.coef_**2).sum()
    made["linear"][str(ridge)] = {
        "objective": loss,
        "class_3": model.coef_[3].round(10).tolist(),
        "intercepts": model.intercept_.round(10).tolist(),
        "predicted": text(model.predict(x[test])),
    }
    print(f"ridge {ridge}: accuracy {model.score(x[test], y[test]):.6f}, objective {loss:.12f}")

json.dump(made, open("baselines.json", "w"), separators=(",", ":"))
