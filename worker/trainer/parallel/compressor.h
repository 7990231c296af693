// compressor.h: gradients that travel as less than themselves. What a rank's gradient loses is
// added to its next one (error feedback), so that it arrives later.
//
// Role:      PowerSGD sends a matrix as the product of two narrow ones; top-k its largest elements.
//            Vectors, and matrices that would not become smaller, are sent whole.
// Invariant: what is carried over is kept by parameter, never by bucket: buckets change after the
//            first step. None of it is in a checkpoint: a whole step sends gradients and what was
//            carried over as they are and leaves nothing behind, so that a resume after it goes on
//            as the uninterrupted run does. What of a step is not finite is not carried over.
// Ownership: up to one more copy of the gradients.
// Threads:   BeginStep and Restart between steps; Reduce from one thread.
// Errors:    LibTorch's exceptions, and those of the exchange, pass through.
// Source:    Vogels, Karimireddy, Jaggi, "PowerSGD" (2019); Stich, Cordonnier, Jaggi, "Sparsified
//            SGD with Memory" (2018).
// Tests:     tests/worker/trainer/parallel/compressor_test.cc,
//            tests/worker/trainer/run/wire_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// What all ranks do together, each with as many numbers, in the same order.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int ranks() const = 0;
  // Overwrites `mine` with the mean over ranks, of the same bits on each.
  virtual void Average(at::Tensor mine) = 0;
  // Every rank's `mine`, a row each, in order of rank.
  virtual at::Tensor Gather(const at::Tensor& mine) = 0;
};

class Compressor {
 public:
  struct Item {
    uint32_t parameter = 0;
    at::Tensor gradient;  // contiguous
  };
  struct Bytes {
    size_t averaged = 0, gathered = 0;  // of the whole buffers; 0: no such message
  };
  explicit Compressor(int ranks) : ranks_(ranks) {}
  virtual ~Compressor() = default;

  enum class Sends { kLess, kWhole };
  void BeginStep(int64_t step, Sends sends);
  // Forgets what was carried over.
  virtual void Restart() { errors_.clear(); }
  Bytes Sent(const std::vector<Item>& items) const;
  // Replaces the gradients by about their mean over ranks.
  void Reduce(const std::vector<Item>& items, Exchange& exchange);

 protected:
  // Whether less than the gradient would be sent.
  virtual bool Pays(const at::Tensor& gradient) const = 0;
  virtual Bytes SentOf(const at::Tensor& gradient) const = 0;
  // Reduces those that pay. `whole`: what to average as it is, in one message where there is
  // another.
  virtual void ReducePaying(const std::vector<Item>& items, std::vector<at::Tensor> whole,
                            Exchange& exchange) = 0;
  virtual void Forget(uint32_t parameter) { errors_.erase(parameter); }

  int ranks() const { return ranks_; }
  int64_t step() const { return step_; }
  // The gradient with what was carried over: a tensor of its own.
  at::Tensor WithError(const Item& item) const;
  // Carries `error` over, where `finite`; else what was carried over before stays.
  void Carry(const Item& item, const at::Tensor& error, const at::Tensor& finite);
  // Averages `parts` in one message.
  static void AverageTogether(const std::vector<at::Tensor>& parts, Exchange& exchange);

 private:
  bool SentWhole(const Item& item) const { return sends_ == Sends::kWhole || !Pays(item.gradient); }
  const int ranks_;
  int64_t step_ = 0;
  Sends sends_ = Sends::kLess;
  std::map<uint32_t, at::Tensor> errors_;  // by parameter
};

class PowerSgd final : public Compressor {
 public:
  PowerSgd(int ranks, int64_t rank, uint64_t seed) : Compressor(ranks), rank_(rank), seed_(seed) {}
  void Restart() override;

 private:
  bool Pays(const at::Tensor& gradient) const override;
  Bytes SentOf(const at::Tensor& gradient) const override;
  void ReducePaying(const std::vector<Item>& items, std::vector<at::Tensor> whole,
                    Exchange& exchange) override;
  void Forget(uint32_t parameter) override;
  // The right one of the two narrow matrices, of the step before, or drawn.
  at::Tensor Right(const Item& item) const;

  const int64_t rank_;
  const uint64_t seed_;
  std::map<uint32_t, at::Tensor> rights_;  // by parameter
};

class TopK final : public Compressor {
 public:
  TopK(int ranks, double share) : Compressor(ranks), share_(share) {}

 private:
  bool Pays(const at::Tensor& gradient) const override;
  Bytes SentOf(const at::Tensor& gradient) const override;
  void ReducePaying(const std::vector<Item>& items, std::vector<at::Tensor> whole,
                    Exchange& exchange) override;
  int64_t CountOf(const at::Tensor& gradient) const;

  const double share_;
};

}  // namespace dt::trainer
