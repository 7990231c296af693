#include "worker/shell/join.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/file_lock.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/net/grpc_settings.h"
#include "common/net/token.h"
#include "common/secret_file.h"
#include "common/sha256.h"
#include "common/status.h"
#include "dtrain/v1/access.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "spdlog/spdlog.h"

namespace dt {
namespace {

namespace v1 = ::dtrain::v1;

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Returns the token for this worker: made only once, and on disk when this returns.
absl::StatusOr<std::string> Draft(const std::string& path) {
  if (!IsThere(path)) DT_RETURN_IF_ERROR(WriteSecret(path, FreshToken() + "\n"));
  return ReadTokenFile("--token-file", path);
}

absl::Status Call(const JoinOptions& options, const std::string& address,
                  const std::string& join_token, const std::string& token) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoSeconds(limits::kCallDeadline));
  AddToken(join_token, context);
  v1::JoinRequest request;
  request.set_worker(options.worker);
  request.set_hash(Sha256Hex(token));
  v1::JoinResponse response;
  const auto channel =
      grpc::CreateCustomChannel(address, options.credentials, ClientChannelArguments());
  return FromGrpcStatus(v1::Access::NewStub(channel)->Join(&context, request, &response));
}

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

}  // namespace

absl::Status JoinFleet(const JoinOptions& options,
                       const std::function<bool(absl::Duration)>& pause) {
  const auto joined = [&options] {
    return ReadTokenFile("--token-file", options.token_file).status();
  };
  if (IsThere(options.token_file)) return joined();
  DT_ASSIGN_OR_RETURN(const std::string join_token,
                      ReadTokenFile("--join-token-file", options.join_token_file));
  DT_ASSIGN_OR_RETURN(const UniqueFd lock,
                      AwaitLock(absl::StrCat(options.token_file, ".lock"), "another worker",
                                absl::InfiniteDuration(), pause));
  if (IsThere(options.token_file)) return joined();
  const std::string draft = absl::StrCat(options.token_file, ".joining");
  DT_ASSIGN_OR_RETURN(const std::string token, Draft(draft));
  absl::Duration backoff = limits::kReconnectFirst;
  size_t at = 0;
  absl::Status status = Call(options, options.coordinators[at], join_token, token);
  if (MayPass(status)) {
    spdlog::warn("joining {}: {}; tried again until it answers", options.coordinators[at],
                 std::string(status.message()));
  }
  while (MayPass(status)) {
    if (!pause(backoff)) return absl::CancelledError("told to stop before this worker had joined");
    backoff = std::min(2 * backoff, limits::kReconnectMax);
    // Another one may lead now.
    at = (at + 1) % options.coordinators.size();
    status = Call(options, options.coordinators[at], join_token, token);
  }
  DT_RETURN_IF_ERROR(status);
  DT_RETURN_IF_ERROR(Rename(draft, options.token_file));
  const std::string folder = std::filesystem::path(options.token_file).parent_path().string();
  DT_RETURN_IF_ERROR(SyncFolder(folder.empty() ? "." : folder));
  spdlog::info("joined as '{}'; the token is in {}, and --join-token-file is used up",
               options.worker, options.token_file);
  return absl::OkStatus();
}

}  // namespace dt
