// compressor.h: gradient compression with error feedback: the part of a rank's gradient that
// compression drops is added to its next gradient, so it arrives later.
//
// Role:      PowerSGD sends a matrix as the product of two narrow matrices; top-k sends its largest
//            elements. Vectors, and matrices that would not become smaller, are sent uncompressed.
// Invariant: errors are kept per parameter, never per bucket, since buckets change after the first
//            step. No error is in a checkpoint: an uncompressed step sends gradients plus errors as
//            they are and leaves no error, so a resume after it continues as the uninterrupted run
//            does. Errors that are not finite are not carried over.
// Ownership: up to one more copy of the gradients.
// Threads:   BeginStep and Restart between steps; Reduce from one thread.
// Errors:    exceptions of LibTorch and of the exchange pass through.
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

// Collectives that all ranks call together, with equally many numbers, in the same order.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int ranks() const = 0;
  // Replaces `mine` by the mean over ranks, with the same bits on each.
  virtual void Average(at::Tensor mine) = 0;
  // Returns every rank's `mine` as rows, in rank order.
  virtual at::Tensor Gather(const at::Tensor& mine) = 0;
};

class Compressor {
 public:
  struct Item {
    uint32_t parameter = 0;
    at::Tensor gradient;  // contiguous
  };
  struct Bytes {
    size_t averaged = 0, gathered = 0;  // bytes of the full buffers; 0: no such message
  };
  explicit Compressor(int ranks) : ranks_(ranks) {}
  virtual ~Compressor() = default;

  enum class Sends { kLess, kWhole };
  void BeginStep(int64_t step, Sends sends);
  // Forgets all carried errors.
  virtual void Restart() { errors_.clear(); }
  Bytes Sent(const std::vector<Item>& items) const;
  // Replaces the gradients by approximately their mean over ranks.
  void Reduce(const std::vector<Item>& items, Exchange& exchange);

 protected:
  // Returns whether compression would send fewer bytes than the gradient has.
  virtual bool Pays(const at::Tensor& gradient) const = 0;
  virtual Bytes SentOf(const at::Tensor& gradient) const = 0;
  // Reduces the gradients for which compression pays. `whole`: tensors to average uncompressed,
  // combined into another message if there is one.
  virtual void ReducePaying(const std::vector<Item>& items, std::vector<at::Tensor> whole,
                            Exchange& exchange) = 0;
  virtual void Forget(uint32_t parameter) { errors_.erase(parameter); }

  int ranks() const { return ranks_; }
  int64_t step() const { return step_; }
  // Returns the gradient plus its carried error, as a new tensor.
  at::Tensor WithError(const Item& item) const;
  // Carries `error` over if `finite`; otherwise keeps the error carried before.
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
  // Returns the right one of the two narrow matrices: that of the step before, or a random one.
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
