#include "cli/remote/contexts.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/view/words.h"
#include "common/file_lock.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/net/token.h"
#include "common/status.h"
#include "common/unique_fd.h"

namespace dt::cli {
namespace {

constexpr char kDefaultAddress[] = "127.0.0.1:7600";

// A key of a context in the file, and its field.
struct ContextKey {
  const char* name;
  std::string& (*field)(Context&);
};
constexpr ContextKey kKeys[] = {
    {"address", [](Context& one) -> std::string& { return one.address; }},
    {"tls_ca", [](Context& one) -> std::string& { return one.tls.ca; }},
    {"tls_cert", [](Context& one) -> std::string& { return one.tls.cert; }},
    {"tls_key", [](Context& one) -> std::string& { return one.tls.key; }},
    {"token_file", [](Context& one) -> std::string& { return one.token_file; }},
};

absl::Status Refused(const std::string& path, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      Printable(path), ": ", std::string(what),
      "; mend it, or move it away and name coordinators anew with 'dtctl context add'"));
}

absl::StatusOr<Context> ParseContext(const std::string& name, const YAML::Node& node,
                                     const std::string& path) {
  Context context;
  context.name = name;
  if (!CheckContextName(name).ok()) {
    return Refused(path, absl::StrCat("'", Printable(name), "' is not a valid context name"));
  }
  if (!node.IsMap()) {
    return Refused(path, absl::StrCat("context '", name, "' is not a map with an address"));
  }
  for (const auto& entry : node) {
    const std::string word = entry.first.as<std::string>();
    const auto* key = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const ContextKey& one) { return word == one.name; });
    if (key == std::end(kKeys)) {
      return Refused(
          path, absl::StrCat("context '", name, "' has the unknown key '", Printable(word), "'"));
    }
    std::string& value = key->field(context);
    value = entry.second.as<std::string>();
    // A line break would be written unchanged, and read as the end of a line.
    if (value.find('\r') != std::string::npos) {
      return Refused(
          path, absl::StrCat("context '", name, "' has a carriage return within its ", key->name));
    }
  }
  if (context.address.empty()) {
    return Refused(path, absl::StrCat("context '", name, "' has no address"));
  }
  return context;
}

absl::StatusOr<Contexts> ParseTree(const YAML::Node& tree, const std::string& path) {
  Contexts contexts;
  if (tree.IsNull()) return contexts;
  if (!tree.IsMap()) return Refused(path, "it is not a map with 'current' and 'contexts'");
  for (const auto& entry : tree) {
    const std::string word = entry.first.as<std::string>();
    if (word == "current") {
      contexts.current = entry.second.as<std::string>();
    } else if (word == "contexts" && entry.second.IsMap()) {
      for (const auto& one : entry.second) {
        DT_ASSIGN_OR_RETURN(const Context context,
                            ParseContext(one.first.as<std::string>(), one.second, path));
        contexts.Put(context);
      }
    } else if (word != "contexts") {
      return Refused(path, absl::StrCat("the unknown key '", Printable(word), "'"));
    }
  }
  return contexts;
}

// Returns the file to write for `path`: people keep such files elsewhere and link to them. Does not
// use canonical(), which fails where the file does not exist yet.
absl::StatusOr<std::string> BehindLinks(const std::string& path) {
  constexpr int kLinks = 40;  // the kernel's limit
  std::filesystem::path file = path;
  std::error_code code;
  for (int i = 0; i <= kLinks; ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(file, code);
    if (code) return file.string();
    file = file.parent_path() / next;
  }
  return Refused(path, "its links lead to each other");
}

TlsFiles EnvironmentTls(const Variables& environment) {
  return {environment("DTCTL_TLS_CA"), environment("DTCTL_TLS_CERT"), environment("DTCTL_TLS_KEY")};
}

}  // namespace

absl::StatusOr<Context> Contexts::Find(const std::string& name, const std::string& path) const {
  std::vector<std::string> names;
  for (const Context& one : list) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  return absl::NotFoundError(
      absl::StrCat("there is no context '", Printable(name), "' in ", Printable(path), "; ",
                   names.empty() ? "add it with 'dtctl context add'"
                                 : absl::StrCat("choose one of: ", absl::StrJoin(names, ", "))));
}

void Contexts::Put(const Context& context) {
  const auto known = std::find_if(list.begin(), list.end(),
                                  [&](const Context& one) { return one.name == context.name; });
  if (known == list.end()) {
    list.push_back(context);
  } else {
    *known = context;
  }
}

bool Contexts::Remove(const std::string& name) {
  if (current == name) current.clear();
  return std::erase_if(list, [&](const Context& one) { return one.name == name; }) > 0;
}

std::string ContextsPath(const Variables& environment) {
  if (const std::string config = environment("XDG_CONFIG_HOME"); !config.empty()) {
    return config + "/dtrain/config.yaml";
  }
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.config/dtrain/config.yaml";
}

absl::Status CheckContextName(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  });
  if (plain && !name.empty() && name.size() <= limits::kContextNameBytes &&
      absl::ascii_isalnum(static_cast<unsigned char>(name.front()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", Printable(name), "' cannot name a context; use letters, digits, '.', '_' and '-', at ",
      "most ", limits::kContextNameBytes, ", beginning with a letter or a digit"));
}

absl::StatusOr<Contexts> ParseContexts(const std::string& text, const std::string& path) {
  try {
    return ParseTree(YAML::Load(text), path);
  } catch (const YAML::Exception& error) {
    return Refused(path, absl::StrCat("line ", error.mark.line + 1, ": ", error.msg));
  }
}

std::string ContextsText(const Contexts& contexts) {
  YAML::Emitter yaml;
  yaml << YAML::BeginMap;
  if (!contexts.current.empty()) yaml << YAML::Key << "current" << YAML::Value << contexts.current;
  yaml << YAML::Key << "contexts" << YAML::Value << YAML::BeginMap;
  for (Context one : contexts.list) {
    yaml << YAML::Key << one.name << YAML::Value << YAML::BeginMap;
    for (const ContextKey& key : kKeys) {
      const std::string& value = key.field(one);
      if (!value.empty()) yaml << YAML::Key << key.name << YAML::Value << value;
    }
    yaml << YAML::EndMap;
  }
  yaml << YAML::EndMap << YAML::EndMap;
  return absl::StrCat("# Coordinators that dtctl knows by name; 'dtctl context' changes this.\n",
                      yaml.c_str(), "\n");
}

absl::StatusOr<Contexts> ReadContexts(const std::string& path) {
  std::error_code code;
  if (path.empty() || !std::filesystem::exists(path, code)) return Contexts();
  const absl::StatusOr<std::string> text = ReadFile(path, limits::kContextsFileBytes);
  if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
  return ParseContexts(*text, path);
}

absl::Status ChangeContexts(const std::string& path,
                            const std::function<bool(absl::Duration)>& pause,
                            const std::function<absl::Status(Contexts&)>& change) {
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "there is no place to keep contexts: neither XDG_CONFIG_HOME nor HOME is set");
  }
  DT_ASSIGN_OR_RETURN(const std::string target, BehindLinks(path));
  DT_RETURN_IF_ERROR(MakeFolders(std::filesystem::path(target).parent_path().string()));
  // The lock is beside the file that is written: several links may lead to it.
  DT_ASSIGN_OR_RETURN(const UniqueFd lock, AwaitLock(target + ".lock", "another 'dtctl'",
                                                     limits::kContextsLockPatience, pause));
  DT_ASSIGN_OR_RETURN(Contexts contexts, ReadContexts(path));
  DT_RETURN_IF_ERROR(change(contexts));
  return WriteFileAtomically(target, ContextsText(contexts));
}

absl::StatusOr<ClientOptions> ChooseCoordinator(const CoordinatorFlags& flags,
                                                const Variables& environment) {
  const std::string given =
      flags.address.empty() && flags.context.empty() ? environment("DTCTL_ADDRESS") : flags.address;
  Context context;
  std::string name = flags.context;
  if (name.empty() && given.empty()) name = environment("DTCTL_CONTEXT");
  if (!name.empty() || given.empty()) {
    const std::string path = ContextsPath(environment);
    DT_ASSIGN_OR_RETURN(const Contexts contexts, ReadContexts(path));
    if (name.empty()) name = contexts.current;
    if (!name.empty()) {
      DT_ASSIGN_OR_RETURN(context, contexts.Find(name, path));
    }
  }
  ClientOptions chosen;
  chosen.address = !given.empty()             ? given
                   : !context.address.empty() ? context.address
                                              : kDefaultAddress;
  if (given.empty()) chosen.context = context.name;
  chosen.tls = flags.tls;
  if (chosen.tls.None() && flags.context.empty()) chosen.tls = EnvironmentTls(environment);
  if (chosen.tls.None()) chosen.tls = context.tls;
  std::string flag = "--token-file";
  std::string file = flags.token_file;
  if (file.empty() && flags.context.empty()) {
    flag = "DTRAIN_TOKEN_FILE";
    file = environment(flag);
  }
  if (file.empty()) {
    flag = absl::StrCat("token_file of context '", context.name, "'");
    file = context.token_file;
  }
  if (!file.empty()) {
    DT_ASSIGN_OR_RETURN(chosen.token, ReadTokenFile(flag, file));
  }
  return chosen;
}

}  // namespace dt::cli
