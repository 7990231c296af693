// agreement.cc: hashes, gathers, compares.
#include "worker/trainer/parallel/agreement.h"

#include <algorithm>
#include <map>
#include <string>

namespace dt::trainer {
namespace {

// Elements that a GPU widens to 64 bits at a time, so that this takes only a few megabytes.
constexpr int64_t kChunk = 1 << 20;
constexpr uint64_t kOdd = 0x5851f42d4c957f2d;  // Knuth's MMIX

std::string Listed(const std::vector<size_t>& ranks) {
  std::string text;
  for (const size_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

at::Tensor BitsOf(const at::Tensor& tensor) {
  return tensor.detach().contiguous().view(at::kInt).flatten();
}

uint64_t HashOnCpu(const std::vector<at::Tensor>& tensors) {
  uint64_t hash = 0;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor bits = BitsOf(tensor);
    const int32_t* const values = bits.const_data_ptr<int32_t>();
    for (int64_t from = 0; from < bits.numel(); from += kChunk) {
      const int64_t size = std::min(kChunk, bits.numel() - from);
      uint64_t sum = 0;
      for (int64_t i = 0; i < size; ++i) {
        sum += static_cast<uint64_t>(int64_t{values[from + i]}) * static_cast<uint64_t>(2 * i + 1);
      }
      hash = hash * kOdd + sum;
    }
  }
  return hash;
}

uint64_t HashOnDevice(const std::vector<at::Tensor>& tensors) {
  const at::TensorOptions longs = at::TensorOptions(tensors.at(0).device()).dtype(at::kLong);
  const at::Tensor factors = at::arange(1, 2 * kChunk, 2, longs);
  at::Tensor hash = at::zeros({}, longs);
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor bits = BitsOf(tensor);
    for (int64_t from = 0; from < bits.numel(); from += kChunk) {
      const at::Tensor chunk = bits.slice(0, from, std::min(from + kChunk, bits.numel()));
      const at::Tensor sum = (chunk.to(at::kLong) * factors.slice(0, 0, chunk.numel())).sum();
      hash.mul_(static_cast<int64_t>(kOdd)).add_(sum);
    }
  }
  return static_cast<uint64_t>(hash.item<int64_t>());
}

// Compares the hashes of `copies`, ranks that must have the same hash.
absl::Status CheckCopies(const std::vector<uint64_t>& hashes, const std::vector<size_t>& copies,
                         int64_t step) {
  std::vector<std::vector<size_t>> alike;  // in order of their first rank
  for (const size_t rank : copies) {
    const auto those = std::find_if(alike.begin(), alike.end(), [&](const auto& ranks) {
      return hashes[ranks[0]] == hashes[rank];
    });
    (those == alike.end() ? alike.emplace_back() : *those).push_back(rank);
  }
  if (alike.size() < 2) return absl::OkStatus();
  const std::vector<size_t>& most = *std::max_element(
      alike.begin(), alike.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const std::string what = "after step " + std::to_string(step) + " the parameters of ";
  if (2 * most.size() > copies.size()) {
    std::vector<size_t> others;
    for (const size_t rank : copies) {
      if (hashes[rank] != hashes[most[0]]) others.push_back(rank);
    }
    return DamagedError(what + Listed(others) + " differ from those of the other " +
                        std::to_string(most.size()) +
                        " ranks, which agree: check the memory and the device "
                        "of its worker");
  }
  std::string parts;
  for (const std::vector<size_t>& ranks : alike)
    parts += (parts.empty() ? "" : " and ") + Listed(ranks);
  return DamagedError(what + parts +
                      " differ, and no majority agrees: check the memory and the "
                      "device of their workers");
}

}  // namespace

// Sums each element's bits times an odd number, modulo 2^64. The order of summing does not matter,
// so every device gets the same hash, and no single change of at most 32 bits cancels out.
uint64_t HashBits(const std::vector<at::Tensor>& tensors) {
  at::NoGradGuard no_grad;
  return tensors.at(0).is_cpu() ? HashOnCpu(tensors) : HashOnDevice(tensors);
}

absl::Status CheckAgreement(const std::vector<uint64_t>& hashes, const std::vector<int64_t>& sets,
                            int64_t step) {
  std::map<int64_t, std::vector<size_t>> ranks;  // by set
  for (size_t rank = 0; rank < sets.size(); ++rank) {
    if (sets[rank] != Strategy::Copies::kNobody) ranks[sets[rank]].push_back(rank);
  }
  for (const auto& [set, copies] : ranks) {
    DT_RETURN_IF_ERROR(CheckCopies(hashes, copies, step));
  }
  return absl::OkStatus();
}

absl::Status CompareParameters(Mesh& mesh, const std::vector<Strategy::Copies>& copies,
                               int64_t step) {
  for (const Strategy::Copies& each : copies) {
    // A rank's shard may have none of the compared tensors.
    const uint64_t mine = each.tensors.empty() ? 0 : HashBits(each.tensors);
    // Send two halves, since a double holds 32 bits exactly.
    const auto rows = mesh.Gather(
        Axis::kWorld, {static_cast<double>(mine >> 32), static_cast<double>(mine & 0xffffffff),
                       static_cast<double>(each.set)});
    std::vector<uint64_t> hashes;
    std::vector<int64_t> sets;
    for (const std::vector<double>& row : rows) {
      hashes.push_back(static_cast<uint64_t>(row[0]) << 32 | static_cast<uint64_t>(row[1]));
      sets.push_back(static_cast<int64_t>(row[2]));
    }
    DT_RETURN_IF_ERROR(CheckAgreement(hashes, sets, step));
  }
  return absl::OkStatus();
}

}  // namespace dt::trainer
