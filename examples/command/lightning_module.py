"""A PyTorch Lightning module as a trial: it reports its validations, saves, and resumes with Lightning's own
checkpoint. When dtrain stops it, it saves at the end of the step."""

import os

import dtrain
import pytorch_lightning as pl
import torch

values = dict({"lr": 1e-2, "hidden": 16, "seed": 1}, **dtrain.parameters())
pl.seed_everything(values["seed"])


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, values["hidden"]), torch.nn.Tanh(),
                                          torch.nn.Linear(values["hidden"], 1))

    def loss(self, batch):
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.layers(inputs).squeeze(1), targets)

    def training_step(self, batch, _):
        return self.loss(batch)

    def validation_step(self, batch, _):
        self.log("val_loss", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=values["lr"])


class Report(pl.Callback):
    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking:
            dtrain.report(trainer.global_step, val_loss=trainer.callback_metrics["val_loss"])
            self.save(trainer)

    def on_train_batch_end(self, trainer, module, *_):
        if dtrain.should_stop():
            self.save(trainer)
            trainer.should_stop = True

    def save(self, trainer):
        os.makedirs("saved", exist_ok=True)
        trainer.save_checkpoint("saved/last.ckpt")
        dtrain.checkpoint("saved", trainer.global_step)


def data(seed):
    inputs = torch.randn(512, 8, generator=torch.Generator().manual_seed(seed))
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, inputs.sum(1)), batch_size=64)


trainer = pl.Trainer(max_steps=int(os.environ.get("DTRAIN_STEPS") or 40), callbacks=[Report()], logger=False,
                     enable_checkpointing=False, enable_progress_bar=False, accelerator="auto", devices=1)
trainer.fit(Model(), data(1), data(2),
            ckpt_path=os.path.join(dtrain.resume(), "last.ckpt") if dtrain.resume() else None)
