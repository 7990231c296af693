// training_state.h: the part of an attempt's state that does not depend on its members.
//
// Role:      data, parameters, optimizer, checkpoints: none of these knows the other ranks.
//            membership.h has the rest.
// Ownership: the attempt owns it. Fields are in the order in which one uses the other.
#pragma once

#include <memory>
#include <optional>

#include "worker/trainer/data/dataset.h"
#include "worker/trainer/eval/tasks.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/optim/adamw.h"
#include "worker/trainer/optim/outer_sgd.h"
#include "worker/trainer/parallel/noise_scale.h"
#include "worker/trainer/precision/loss_scale.h"
#include "worker/trainer/run/keeper.h"
#include "worker/trainer/run/pretrained.h"
#include "worker/trainer/trial/spec.h"
#include "worker/trainer/trial/wire_choice.h"

namespace dt::trainer {

struct TrainingState {
  TrialSpec spec;
  std::optional<Dataset> train_data, val_data;
  EvalTasks tasks;
  std::optional<checkpoint::HfWeights> pretrained;  // with model.init_from
  std::unique_ptr<ParameterHome> home;
  std::unique_ptr<Transformer> model;
  std::unique_ptr<AdamW> optimizer;
  std::unique_ptr<OuterSgd> outer;        // for local_sgd only
  std::unique_ptr<LossScale> loss_scale;  // for fp16 only
  NoiseScale noise_scale;
  WireChoice wire_choice;                    // for parallel.compression auto
  std::unique_ptr<CheckpointKeeper> keeper;  // on rank 0, once training began
};

}  // namespace dt::trainer
