// token.h: a bearer token: its form, the file that holds it, and how it is added to a call.
//
// Role:    the secret is in a file, never in arguments, the environment, messages or logs.
// Errors:  InvalidArgument naming the flag, the file and the fix, but none of the file's content.
// Tests:   tests/common/net/token_test.cc
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "grpcpp/client_context.h"

namespace dt {

// Returns "dtr_" and 256 random bits as hex digits.
std::string FreshToken();
bool IsToken(std::string_view text);
// Reads a token from a file. `flag` names the source of the path: "--token-file".
absl::StatusOr<std::string> ReadTokenFile(std::string_view flag, const std::string& path);
// Adds the metadata `authorization: Bearer …` to a call; does nothing for an empty token.
void AddToken(const std::string& token, grpc::ClientContext& context);

}  // namespace dt
