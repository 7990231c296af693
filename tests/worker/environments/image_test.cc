// image_test.cc: images are resolved once, pulled, recorded and removed, with fake runtimes.
#include "worker/environments/image.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/fake_tools.h"
#include "worker/environments/store.h"

namespace dt::environments {
namespace {

namespace fs = std::filesystem;

const std::string kDigest = "sha256:" + std::string(64, 'd');

// Pulls by making the file `here`; without it, no image is on the host.
constexpr char kRuntime[] = R"(
case "$1 $2" in
  'pull --quiet')
    case "$3" in
      *missing*) echo 'Error: reading manifest: manifest unknown' >&2; exit 125 ;;
      *offline*) echo 'Error: dial tcp: lookup x: no such host' >&2; exit 125 ;;
      *much*) head -c 10000000 /dev/zero | tr '\0' x; exit 1 ;;
    esac
    touch "$HOME/here" ;;
  'image inspect')
    case "$5" in *killed*) kill -9 $$ ;; esac
    [ -e "$HOME/here" ] || { echo 'Error: no such image' >&2; exit 125; }
    printf 'sha256:feed 1000000\ndigest docker.io/library/other@%s\ndigest ghcr.io/me/x@%s\n' \
      "$DIGEST" "$DIGEST"
    echo 'env PYTHONPATH=/opt/lib' ;;
  'image rm') rm "$HOME/here" ;;
esac
)";

class ImageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(tools_ / "store");
    fs::permissions(tools_ / "store", fs::perms::owner_all);
    fs::create_directory(tools_ / "scratch");
    // The store runs the runtime with this process's own variables.
    home_ = getenv("HOME") == nullptr ? "" : getenv("HOME");
    setenv("HOME", tools_.folder().path().c_str(), 1);
    setenv("DIGEST", kDigest.c_str(), 1);
  }
  void TearDown() override {
    setenv("HOME", home_.c_str(), 1);
    unsetenv("DIGEST");
  }
  Images With(const std::string& runtime, const std::string& script = kRuntime) const {
    Environment variables = tools_.Variables();
    variables["DIGEST"] = kDigest;
    return {.path = tools_.Put(runtime, script),
            .store = tools_ / "store",
            .scratch = tools_ / "scratch",
            .environment = variables};
  }
  static absl::StatusOr<std::string> Resolved(const Images& images, const std::string& name) {
    return ResolveImage({.image = name}, images);
  }
  void PutHere() const { tools_.folder().Write("here", ""); }

  testing::FakeTools tools_;
  std::string home_;
  const std::string lock_ = absl::StrCat("# image: ghcr.io/me/x:1\nghcr.io/me/x@", kDigest, "\n");
};

TEST_F(ImageTest, ATagIsPulledAndItsDigestIsTheLock) {
  for (const char* runtime : {"podman", "docker"}) {
    const auto lock = Resolved(With(runtime), "ghcr.io/me/x:1");
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(*lock, lock_);
    EXPECT_NE(tools_.TakeCalls().find("pull --quiet ghcr.io/me/x:1"), std::string::npos);
  }
}

TEST_F(ImageTest, ARuntimeThatWasKilledIsNoFaultOfTheImage) {
  for (const char* name : {"localhost/killed:1", "ghcr.io/me/killed:1"}) {
    const auto lock = Resolved(With("podman"), name);
    EXPECT_EQ(lock.status().code(), kIoError) << lock.status();
    EXPECT_EQ(tools_.TakeCalls().find("pull"), std::string::npos);
  }
}

TEST_F(ImageTest, ADigestInTheNameNeedsNoPull) {
  const auto lock = Resolved(With("podman"), "ghcr.io/me/x:1@" + kDigest);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(*ImageIn(*lock), "ghcr.io/me/x@" + kDigest);
  EXPECT_EQ(tools_.TakeCalls(), "");
}

TEST_F(ImageTest, AnImageThatDoesNotExistIsToldInTheRuntimesWords) {
  const auto lock = Resolved(With("podman"), "ghcr.io/me/missing:1");
  EXPECT_EQ(lock.status(),
            ConfigError("podman cannot pull ghcr.io/me/missing:1: Error: reading manifest: "
                        "manifest unknown"));
}

TEST_F(ImageTest, ALostNetworkIsAFaultOfTheHostAndAnImageThatIsHereCounts) {
  EXPECT_EQ(Resolved(With("podman"), "ghcr.io/me/offline").status().code(), kIoError);
  PutHere();
  EXPECT_TRUE(Resolved(With("podman"), "ghcr.io/me/offline").ok());
}

TEST_F(ImageTest, ARuntimeThatPrintsWithoutAnEndIsAFaultOfTheHost) {
  const auto lock = Resolved(With("podman"), "ghcr.io/me/much");
  EXPECT_EQ(lock.status().code(), kIoError);
  EXPECT_LT(lock.status().message().size(), 4096u);
}

TEST_F(ImageTest, ALocalImageIsNeverPulled) {
  EXPECT_EQ(Resolved(With("podman"), "localhost/x:1").status().code(), kConfigError);
  PutHere();
  EXPECT_TRUE(Resolved(With("podman"), "localhost/x:1").ok());
  EXPECT_EQ(tools_.TakeCalls().find("pull"), std::string::npos);
}

TEST_F(ImageTest, ANameThatWouldBeAnOptionIsRefusedBeforeAnyRuntimeRuns) {
  for (const char* name : {"-v=/:/x", " x", "--privileged", "x y", "a\n--b"}) {
    EXPECT_EQ(Resolved(With("podman"), name).status().code(), kConfigError) << name;
  }
  EXPECT_FALSE(ImageIn("# image: x\n--privileged\n").ok());
  EXPECT_FALSE(ImageIn("").ok());
  EXPECT_EQ(tools_.TakeCalls(), "");
}

TEST_F(ImageTest, TheRecordHasWhatAProgramNeeds) {
  const Images images = With("podman");
  ASSERT_TRUE(MakeImage(lock_, images, tools_ / "store/a", -1).ok());
  const auto image = ReadImage(tools_ / "store/a");
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->path, images.path);
  EXPECT_EQ(image->reference, "ghcr.io/me/x@" + kDigest);
  EXPECT_EQ(image->python_path, "/opt/lib");
  EXPECT_TRUE(image->pulled);
  EXPECT_EQ(ImageBytes(tools_ / "store/a"), 1000000u);
  EXPECT_FALSE(LacksImage(tools_ / "store/a"));
  fs::remove(tools_ / "here");
  EXPECT_TRUE(LacksImage(tools_ / "store/a"));
}

TEST_F(ImageTest, AnImageThatWasHereBeforeIsNeitherCountedNorRemoved) {
  PutHere();
  ASSERT_TRUE(MakeImage(lock_, With("podman"), tools_ / "store/a", -1).ok());
  EXPECT_EQ(ImageBytes(tools_ / "store/a"), 0u);
  RemoveImage(tools_ / "store/a");
  EXPECT_TRUE(fs::exists(tools_ / "here"));
}

TEST_F(ImageTest, AnImageThatWasPulledToResolveItCounts) {
  const Images images = With("podman");
  ASSERT_TRUE(Resolved(images, "ghcr.io/me/x:1").ok());
  ASSERT_TRUE(MakeImage(lock_, images, tools_ / "store/a", -1).ok());
  EXPECT_EQ(ImageBytes(tools_ / "store/a"), 1000000u);
}

TEST_F(ImageTest, TheStoreRemovesAnImageBeyondItsBoundOnceNobodyUsesIt) {
  const Images images = With("podman");
  const Store store(tools_ / "store", 500000);
  const auto make = [&](const std::string& folder) { return MakeImage(lock_, images, folder, -1); };
  auto lock = store.OpenLock("a");
  ASSERT_TRUE(lock.ok()) << lock.status();
  ASSERT_TRUE(store.Claim("a", *lock, make).ok());
  store.Evict();
  EXPECT_TRUE(fs::exists(tools_ / "here"));  // its lock is held
  lock->Reset();
  store.Evict();
  EXPECT_FALSE(fs::exists(tools_ / "here"));
  EXPECT_FALSE(store.IsComplete("a"));
  EXPECT_LT(store.Bytes(), 500000u);
}

TEST_F(ImageTest, ApptainerMakesAFileOfADigestThatSkopeoLooksUp) {
  const Images images = With("apptainer", "[ \"$2\" = pull ] && touch \"$3\"");
  const auto unknown = Resolved(images, "ghcr.io/me/x:1");
  EXPECT_EQ(unknown.status().code(), kConfigError);
  EXPECT_NE(unknown.status().message().find("install skopeo"), std::string::npos);
  tools_.Put("skopeo", "echo " + kDigest);
  const auto lock = Resolved(images, "ghcr.io/me/x:1");
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(*lock, lock_);
  ASSERT_TRUE(MakeImage(*lock, images, tools_ / "store/a", -1).ok());
  EXPECT_EQ(ReadImage(tools_ / "store/a")->reference, tools_ / "store/a/image.sif");
  EXPECT_FALSE(LacksImage(tools_ / "store/a"));
  fs::remove(tools_ / "store/a/image.sif");
  EXPECT_TRUE(LacksImage(tools_ / "store/a"));
}

TEST_F(ImageTest, ARuntimeThatFailsDoesNotMakeAnImageCountAsGone) {
  ASSERT_TRUE(MakeImage(lock_, With("podman"), tools_ / "store/a", -1).ok());
  With("podman", "exit 1");  // and prints nothing, as one that was killed
  EXPECT_FALSE(LacksImage(tools_ / "store/a"));
}

}  // namespace
}  // namespace dt::environments
