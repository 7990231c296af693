// files.cc: see files.h.
#include "common/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace dt {
namespace {

absl::Status ErrorOf(const std::error_code& code, std::string_view what, const std::string& path) {
  return IoError("cannot " + std::string(what) + " '" + path + "': " + code.message());
}

std::string ParentOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

absl::Status SystemError(std::string_view what, const std::string& path) {
  return ErrorOf(std::error_code(errno, std::generic_category()), what, path);
}

absl::Status FlushStandardOutput() {
  // When this call follows a failure at once, errno still holds the reason of that failure.
  if (std::ferror(stdout) == 0) errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) {
    return absl::OkStatus();
  }
  if (errno == 0) errno = EIO;
  return SystemError("write to", "standard output");
}

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  InputFile file;
  file.path_ = path;
  // O_NONBLOCK: a FIFO given by mistake must not stall the caller.
  file.fd_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.fd_.valid() || ::fstat(file.fd_.get(), &status) != 0) {
    // A path that is absent, or no file, is the fault of the data. Any other error, such as a stale
    // handle of a network file system, tells nothing about the data.
    const bool absent =
        errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG;
    const absl::Status error = SystemError("open", path);
    return absent ? absl::Status(kDataError, error.message()) : error;
  }
  if (!S_ISREG(status.st_mode)) {
    return DataError("'" + path + "' is not a regular file");
  }
  file.bytes_ = static_cast<uint64_t>(status.st_size);
  file.modified_ns_ =
      int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + int64_t{status.st_mtim.tv_nsec};
  return file;
}

absl::Status InputFile::ReadAt(uint64_t offset, void* into, size_t bytes) const {
  auto* next = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t got = ::pread(fd_.get(), next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", path_);
    if (got == 0) {
      struct stat now {};
      const bool known = ::fstat(fd_.get(), &now) == 0;
      const uint64_t end = known ? std::min<uint64_t>(offset, now.st_size) : offset;
      return DataError("'" + path_ + "' ends at byte " + std::to_string(end) + ", " +
                       std::to_string(offset + bytes - end) +
                       " bytes early; was it changed while in use?");
    }
    next += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t bytes_max) {
  DT_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.bytes() > bytes_max) {
    return DataError("'" + path + "' has " + std::to_string(file.bytes()) + " bytes; at most " +
                     std::to_string(bytes_max) + " are read");
  }
  std::string content(file.bytes(), '\0');
  DT_RETURN_IF_ERROR(file.ReadAt(0, content.data(), content.size()));
  return content;
}

std::string ReadKernelFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return "";
  std::string content;
  char part[4096];
  while (true) {
    const ssize_t got = ::read(fd.get(), part, sizeof(part));
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return "";
    content.append(part, got);
  }
}

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  file.fd_ = UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.fd_.valid()) return SystemError("create", path);
  return file;
}

absl::StatusOr<OutputFile> OutputFile::Reopen(const std::string& path, uint64_t bytes) {
  OutputFile file;
  file.path_ = path;
  file.bytes_ = bytes;
  file.fd_ = UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.fd_.valid() || ::fstat(file.fd_.get(), &status) != 0) {
    return absl::Status(kDataError, SystemError("open", path).message());
  }
  if (static_cast<uint64_t>(status.st_size) < bytes) {
    return DataError("'" + path + "' has " + std::to_string(status.st_size) +
                     " bytes and not the " + std::to_string(bytes) + " that were written");
  }
  if (::ftruncate(file.fd_.get(), static_cast<off_t>(bytes)) != 0) {
    return SystemError("shorten", path);
  }
  return file;
}

absl::Status OutputFile::Append(const void* data, size_t bytes) {
  DT_RETURN_IF_ERROR(WriteAt(bytes_, data, bytes));
  bytes_ += bytes;
  return absl::OkStatus();
}

absl::Status OutputFile::WriteAt(uint64_t offset, const void* data, size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = ::pwrite(fd_.get(), next, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return SystemError("write", path_);
    next += put;
    offset += static_cast<uint64_t>(put);
    bytes -= static_cast<size_t>(put);
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Sync() {
  if (::fsync(fd_.get()) != 0) return SystemError("sync", path_);
  return absl::OkStatus();
}

absl::Status OutputFile::SyncAndClose() {
  DT_RETURN_IF_ERROR(Sync());
  // A network file system reports lost writes here.
  if (::close(fd_.Release()) != 0 && errno != EINTR) return SystemError("close", path_);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path) {
  std::error_code code;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(path, code);
  for (const std::filesystem::directory_iterator end; !code && entry != end;
       entry.increment(code)) {
    names.push_back(entry->path().filename().string());
  }
  if (code) return ErrorOf(code, "list", path);
  return names;
}

absl::Status MakeFolders(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return ErrorOf(code, "create folder", path);
  return absl::OkStatus();
}

absl::Status SyncFolder(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return SystemError("open folder", path);
  // EINVAL: a file system that cannot sync folders; its renames are as durable as they get.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return SystemError("sync folder", path);
  return absl::OkStatus();
}

absl::Status Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return SystemError("rename '" + from + "' to", to);
  }
  return absl::OkStatus();
}

absl::Status RemoveAll(const std::string& path) {
  std::error_code code;
  std::filesystem::remove_all(path, code);
  if (code) return ErrorOf(code, "remove", path);
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp";
  DT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(temporary));
  DT_RETURN_IF_ERROR(file.Append(content.data(), content.size()));
  DT_RETURN_IF_ERROR(file.SyncAndClose());
  DT_RETURN_IF_ERROR(Rename(temporary, path));
  return SyncFolder(ParentOf(path));
}

}  // namespace dt
