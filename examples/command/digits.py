"""scikit-learn's digits with a small network: reports its accuracy after each pass, and resumes from its checkpoints.
"""

import os
import pickle

import dtrain
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

values = dict({"lr": 1e-3, "hidden": 32, "seed": 1}, **dtrain.parameters())
images, labels = load_digits(return_X_y=True)
train_x, test_x, train_y, test_y = train_test_split(images / 16, labels, test_size=0.3, random_state=0)
model = MLPClassifier((values["hidden"],), learning_rate_init=values["lr"], random_state=values["seed"])
if dtrain.resume():
    with open(os.path.join(dtrain.resume(), "model.pickle"), "rb") as file:
        model = pickle.load(file)
for step in range(dtrain.resumed_step() + 1, int(os.environ.get("DTRAIN_STEPS") or 20) + 1):
    model.partial_fit(train_x, train_y, classes=range(10))
    dtrain.report(step, accuracy=model.score(test_x, test_y), loss=model.loss_)
    if step % 5 == 0 or dtrain.should_stop():
        os.makedirs("saved", exist_ok=True)
        with open("saved/model.pickle", "wb") as file:
            pickle.dump(model, file)
        dtrain.checkpoint("saved", step)
    if dtrain.should_stop():
        break
