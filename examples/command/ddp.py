"""A PyTorch DDP script as torchrun runs it: it does not use dtrain, and prints a loss as a line of JSON.

    torchrun --nproc-per-node 2 ddp.py --lr 0.1
"""

import argparse
import json

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=50)
options = parser.parse_args()

dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank = dist.get_rank()
device = torch.device(f"cuda:{rank % torch.cuda.device_count()}" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(8, 1).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)
target = torch.arange(8.0, device=device)
if rank == 0:
    print(f"trains with {dist.get_world_size()} ranks", flush=True)
generator = torch.Generator().manual_seed(rank)
for step in range(1, options.steps + 1):
    inputs = torch.randn(64, 8, generator=generator).to(device)
    loss = ((model(inputs).squeeze(1) - inputs @ target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    dist.all_reduce(loss, op=dist.ReduceOp.SUM)
    if rank == 0 and step % 10 == 0:
        print(json.dumps({"step": step, "loss": loss.item() / dist.get_world_size()}), flush=True)
dist.destroy_process_group()
