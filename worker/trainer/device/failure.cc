// failure.cc: maps exceptions to error codes.
#include "worker/trainer/device/failure.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "common/library_words.h"
#include "common/text.h"

namespace dt::trainer {
namespace {

constexpr size_t kMessageBytes = 1024;
// cudaErrorMemoryAllocation, from libraries that bypass the caching allocator.
constexpr int32_t kCudaOutOfMemory = 2;

// Returns the first line, which has the message; the rest is a stack trace.
std::string FirstLine(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  return InPlainWords(text.substr(0, kMessageBytes));
}

bool ContainsAny(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// Returns the code for an exception by its text: an error that crossed the autograd engine or a
// Future lost its type but keeps its message. The message may include a stack trace, which under
// the Reducer is full of c10d's names whatever the cause, so that part is ignored.
absl::StatusCode CodeOfWords(std::string_view text) {
  text = text.substr(0, text.find("Exception raised from"));
  if (ContainsAny(text, {"can't allocate memory", "out of memory", "bad_alloc", "ALLOC_FAILED",
                         "ALLOCATION_FAILED"})) {
    return kOutOfMemoryError;
  }
  if (ContainsAny(text, {"gloo", "Gloo", "NCCL", "nccl", "Connection closed by peer", "c10d"})) {
    return kCollectiveError;
  }
  return kIoError;
}

// Returns the amount, such as "2.00 GiB", in a message of LibTorch's allocators; "" if there is
// none.
std::string AmountIn(const std::string& raw) {
  constexpr std::string_view kOnCpu = "you tried to allocate ";
  constexpr std::string_view kOnGpu = "Tried to allocate ";
  if (const size_t at = raw.find(kOnCpu); at != std::string::npos) {
    return FormatBytes(std::strtod(raw.c_str() + at + kOnCpu.size(), nullptr));
  }
  if (const size_t at = raw.find(kOnGpu); at != std::string::npos) {
    const size_t start = at + kOnGpu.size();
    const size_t end = raw.find("iB", start);
    if (end != std::string::npos) return raw.substr(start, end + 2 - start);
  }
  return "";
}

}  // namespace

absl::Status ErrorOfException() {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return OutOfMemoryError(FirstLine(error.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    return OutOfMemoryError("an allocation failed");
  } catch (const std::system_error& error) {
    // A thread's stack is memory too, and counts towards --memory-limit.
    const bool memory = error.code() == std::errc::resource_unavailable_try_again ||
                        error.code() == std::errc::not_enough_memory;
    return memory ? OutOfMemoryError(std::string("no thread could be started: ") + error.what())
                  : IoError(FirstLine(error.what()));
  } catch (const c10::DistError& error) {
    return CollectiveError(FirstLine(error.what_without_backtrace()));
  } catch (const c10::AcceleratorError& error) {
    // An error of the device itself, whichever library made the call.
    const bool memory = error.get_error_code() == kCudaOutOfMemory;
    return StatusOf(memory ? kOutOfMemoryError : kIoError,
                    FirstLine(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return StatusOf(CodeOfWords(error.what_without_backtrace()),
                    FirstLine(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return StatusOf(CodeOfWords(error.what()), FirstLine(error.what()));
  } catch (...) {
    return IoError("an exception of unknown type");
  }
}

std::string DescribeOutOfMemory(const std::string& raw, const std::string& bound,
                                const std::string& whose) {
  const std::string amount = AmountIn(raw);
  return "out of memory: " + (amount.empty() ? "it does" : amount + " more do") + " not fit into " +
         bound + " on " + whose +
         "; lower train.batch_size or train.seq_len; train.global_batch_size keeps the batch of a "
         "step as it is (" +
         raw + ")";
}

}  // namespace dt::trainer
