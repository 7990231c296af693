// failure.cc: which exception means what.
#include "worker/trainer/failure.h"

#include <c10/util/Exception.h>

#include <array>
#include <new>
#include <string>
#include <string_view>

namespace dt::trainer {
namespace {

constexpr size_t kMessageBytes = 1024;

// The first line says it; the rest is a stack.
std::string FirstLine(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  return std::string(text.substr(0, kMessageBytes));
}

bool ContainsAny(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// An error that crossed the autograd engine or a Future has lost its type, but not its words.
ErrorKind KindOfWords(std::string_view text) {
  if (ContainsAny(text, {"can't allocate memory", "out of memory", "bad_alloc"})) {
    return ErrorKind::kOutOfMemory;
  }
  if (ContainsAny(text, {"gloo", "Gloo", "NCCL", "nccl", "Connection closed by peer", "c10d"})) {
    return ErrorKind::kCollective;
  }
  return ErrorKind::kIo;
}

}  // namespace

Error ErrorOfException() {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return {ErrorKind::kOutOfMemory, FirstLine(error.what_without_backtrace())};
  } catch (const std::bad_alloc&) {
    return {ErrorKind::kOutOfMemory, "an allocation failed"};
  } catch (const c10::DistError& error) {
    return {ErrorKind::kCollective, FirstLine(error.what_without_backtrace())};
  } catch (const c10::Error& error) {
    return {KindOfWords(error.what()), FirstLine(error.what_without_backtrace())};
  } catch (const std::exception& error) {
    return {KindOfWords(error.what()), FirstLine(error.what())};
  } catch (...) {
    return {ErrorKind::kIo, "an exception of unknown type"};
  }
}

}  // namespace dt::trainer
