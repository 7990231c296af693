// tasks.h: the evaluation tasks besides validation loss. Their files are opened before the ranks
// meet.
//
// Errors: Open: ConfigError and DataError for files that are missing, damaged or do not fit the
//         model.
// Tests:  tests/worker/trainer/run/tasks_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/frames/frames.h"
#include "worker/trainer/eval/hellaswag.h"

namespace dt::trainer {

class EvalTasks {
 public:
  static absl::StatusOr<EvalTasks> Open(const TrialSpec& spec, const std::string& data_root);

  // Runs the tasks on every rank and fills in `eval`. Errors: those of the meter.
  absl::Status Run(const TrialSpec& spec, const Transformer& model, Device& device, Mesh& mesh,
                   EvalMeter& meter, frames::Eval& eval) const;
  // Returns the size of one data-parallel rank's share as the meter counts it: batches of examples
  // plus tokens.
  int64_t Parts(const TrialSpec& spec, int32_t rank, int32_t size) const;

 private:
  absl::Status OpenHellaSwag(const TrialSpec& spec, const std::string& data_root);
  absl::Status OpenSamples(const TrialSpec& spec, const std::string& data_root);

  std::vector<corpus::HellaSwagExample> examples_;
  std::vector<ExampleBatch> batches_;
  corpus::TextCodec codec_;  // for samples
  std::vector<uint16_t> prompt_;
};

}  // namespace dt::trainer
