#include "common/address.h"

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/lead_limits.h"

namespace dt {
namespace {

absl::Status Refuse(std::string_view flag, std::string_view address, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(flag), " '", std::string(address), "'", std::string(why)));
}

absl::Status Check(std::string_view flag, std::string_view address, PortZero zero,
                   std::string_view form) {
  const size_t colon = address.rfind(':');
  const std::string_view host = address.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const bool has_port = colon != std::string_view::npos && colon > 0 && address.back() != ']';
  if (!has_port || host.find_first_of(" \t/") != std::string_view::npos) {
    return Refuse(flag, address, absl::StrCat(": write ", std::string(form)));
  }
  if (!bracketed && host.find_first_of(":[]") != std::string_view::npos) {
    return Refuse(flag, address, ": write an IPv6 address as [address]:port");
  }
  const std::string port(address.substr(colon + 1));
  uint32_t number = 0;
  const bool digits = !port.empty() && port.find_first_not_of("0123456789") == std::string::npos;
  const uint32_t least = zero == PortZero::kAllowed ? 0 : 1;
  if (!digits || !absl::SimpleAtoi(port, &number) || number < least || number > 65535) {
    return Refuse(flag, address,
                  absl::StrCat(": port '", port, "' is not a number from ", least, " to 65535"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAddress(std::string_view flag, std::string_view address, PortZero zero) {
  const std::string text(address);
  if (absl::StartsWith(text, "unix:") || absl::StartsWith(text, "unix-abstract:")) {
    if (address.back() != ':') return absl::OkStatus();
    return Refuse(flag, address, " names no socket: write unix:/path");
  }
  return Check(flag, address, zero, "host:port or unix:/path");
}

HostAndPort SplitHostAndPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  std::string_view host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : address.substr(colon + 1);
  return {std::string(host), std::string(port)};
}

absl::StatusOr<std::vector<std::string>> SplitAddresses(std::string_view flag,
                                                        std::string_view addresses) {
  std::vector<std::string> several =
      absl::StrSplit(absl::string_view(addresses.data(), addresses.size()), ',');
  if (several.size() > limits::kCoordinatorAddresses) {
    return Refuse(flag, addresses,
                  absl::StrCat(" names ", several.size(), " addresses; at most ",
                               limits::kCoordinatorAddresses, " may be given"));
  }
  for (const std::string& address : several) {
    absl::Status status = CheckAddress(flag, address, PortZero::kRefused);
    if (!status.ok()) return status;
  }
  return several;
}

absl::Status CheckHostAndPort(std::string_view flag, std::string_view address, PortZero zero) {
  return Check(flag, address, zero, "host:port");
}

}  // namespace dt
