// device_test.cc: slots, GPUs from the driver's files, the storage marker.
#include "worker/shell/device.h"

#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"
#include "worker/shell/run_folder.h"
#include "worker/shell/storage.h"

namespace dt {
namespace {

using testing::TempFolder;

TEST(DeviceTest, SlotsAreReadAsWritten) {
  EXPECT_EQ(ParseSlot("cpu")->kind, DeviceKind::kCpu);
  EXPECT_EQ(ParseSlot("cpu:3")->index, 3);
  EXPECT_EQ(ParseSlot("cuda:1")->kind, DeviceKind::kCuda);
  EXPECT_EQ(ParseSlot("cuda:1")->index, 1);
}

TEST(DeviceTest, WordsThatAreNoSlotAreRefused) {
  for (const char* text : {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cpu:1x", "cuda:0 "}) {
    EXPECT_EQ(ParseSlot(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(DeviceTest, GpusWithoutADeviceFileAreNotOurs) {
  TempFolder root;
  for (const auto& [bus, minor] :
       {std::pair{"0000:01:00.0", "0"}, {"0000:02:00.0", "1"}, {"0000:03:00.0", "2"}}) {
    root.Write(std::string("proc/driver/nvidia/gpus/") + bus + "/information",
               std::string("Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-") + minor +
                   "\nDevice Minor: \t " + minor + "\n");
  }
  root.Write("dev/nvidia1", "");
  root.Write("dev/nvidia2", "");
  const std::vector<Gpu> gpus = FindGpus(root.path());
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].index, 0);
  EXPECT_EQ(gpus[0].uuid, "GPU-1");
  EXPECT_EQ(gpus[0].name, "NVIDIA H100");
  EXPECT_EQ(gpus[1].uuid, "GPU-2");
}

TEST(DeviceTest, GpusWhoseDeviceFileCannotBeOpenedAreNotOurs) {
  TempFolder root;
  root.Write("proc/driver/nvidia/gpus/0000:01:00.0/information",
             "GPU UUID: \t GPU-" + std::string(8, '?') + "\nDevice Minor: \t 0\n");
  // Root is never denied access by permissions, but a folder is still no device.
  std::filesystem::create_directories(root / "dev/nvidia0");
  EXPECT_TRUE(FindGpus(root.path()).empty());
  std::filesystem::remove(root / "dev/nvidia0");
  root.Write("dev/nvidia0", "");
  ASSERT_EQ(FindGpus(root.path()).size(), 1u);
  EXPECT_EQ(FindGpus(root.path())[0].uuid, "") << "the driver does not tell it";
}

TEST(DeviceTest, AnInheritedListOfGpusIsObeyedAsCudaDoes) {
  const std::vector<Gpu> gpus = {{0, "a", "GPU-aa11"}, {1, "b", "GPU-bb22"}, {2, "c", "GPU-cc33"}};
  const auto names = [&](const char* visible) {
    std::string seen;
    int index = 0;
    for (const Gpu& gpu : VisibleGpus(gpus, visible)) {
      EXPECT_EQ(gpu.index, index++);
      seen += gpu.name;
    }
    return seen;
  };
  EXPECT_EQ(names(nullptr), "abc");
  EXPECT_EQ(names("2,0"), "ca");
  EXPECT_EQ(names("GPU-bb22, 0"), "ba");
  EXPECT_EQ(names("GPU-cc"), "c") << "the start of one is enough";
  EXPECT_EQ(names("1,7,0"), "b") << "GPUs after an unknown one are not seen";
  EXPECT_EQ(names("1,1,0"), "b") << "nor after one that is listed again: a GPU is one slot";
  EXPECT_EQ(names("0,GPU-aa11"), "a");
  for (const char* none : {"", "-1", "GPU-", "NoDevFiles", "MIG-"}) EXPECT_EQ(names(none), "");
  const std::vector<Gpu> instance = VisibleGpus(gpus, "MIG-dd44,MIG-ee55");
  ASSERT_EQ(instance.size(), 1u) << "CUDA uses one instance";
  EXPECT_EQ(instance[0].uuid, "MIG-dd44") << "by which trainers are told and slots are locked";
}

TEST(RunFolderTest, IsMadeForThisUserAlone) {
  TempFolder root;
  const std::string folder = root / "a/run";
  ASSERT_TRUE(OpenRunFolder(folder).ok());
  ASSERT_TRUE(OpenRunFolder(folder).ok()) << "it may be there";
  struct stat facts {};
  ASSERT_EQ(lstat(folder.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
}

TEST(RunFolderTest, AFolderThatOthersCouldUseIsRefused) {
  TempFolder root;
  const std::string open = root / "open";
  ASSERT_EQ(mkdir(open.c_str(), 0700), 0);
  ASSERT_EQ(chmod(open.c_str(), 0777), 0);
  std::filesystem::create_symlink("/", root / "link");
  root.Write("file", "");
  for (const char* name : {"open", "link", "file"}) {
    const absl::Status status = OpenRunFolder(root / name);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_NE(std::string(status.message()).find(name), std::string::npos);
  }
}

TEST(DeviceTest, HostsWithoutADriverHaveNoGpus) {
  TempFolder root;
  EXPECT_TRUE(FindGpus(root.path()).empty());
}

TEST(DeviceTest, ASystemsNameIsMadePrintable) {
  EXPECT_EQ(TellableText("gpu-07.example"), "gpu-07.example");
  EXPECT_EQ(TellableText("Jürgen"), "Jürgen");
  EXPECT_EQ(TellableText("host\xff\xfe"), "host\\xff\\xfe");
  EXPECT_EQ(TellableText("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_NE(TellableText("host\xff"), TellableText("host\xfe")) << "two hosts stay two";
  EXPECT_LE(TellableText(std::string(64, '\xff')).size(), 128u);
}

TEST(DeviceTest, HostFactsAreThere) {
  const HostFacts facts = ReadHostFacts();
  EXPECT_FALSE(facts.host.empty());
  EXPECT_GE(facts.cores.size(), 1u);
  EXPECT_GT(facts.memory_bytes, 1u << 20);
}

TEST(CpuShareTest, EqualSlotsGetDisjointRunsOfTheUsableCores) {
  const std::vector<int> cores = {0, 1, 4, 5, 6, 7, 9};
  std::set<int> seen;
  for (const char* slot : {"cpu:0", "cpu:1", "cpu:2"}) {
    const CpuShare share = ShareOfCores(*ParseSlot(slot), 3, 0, cores);
    EXPECT_EQ(share.threads, 2);
    ASSERT_EQ(share.cores.size(), 2u);
    seen.insert(share.cores.begin(), share.cores.end());
  }
  EXPECT_EQ(seen, (std::set<int>{0, 1, 4, 5, 6, 7}));
}

TEST(CpuShareTest, AThreadCountThatWasGivenHolds) {
  const CpuShare share = ShareOfCores(*ParseSlot("cpu:1"), 2, 3, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(share.threads, 3);
  EXPECT_EQ(share.cores, (std::vector<int>{3, 4, 5}));
}

TEST(CpuShareTest, MoreSlotsThanCoresGetAThreadEachAndTheLastOnesNoCore) {
  EXPECT_EQ(ShareOfCores(*ParseSlot("cpu:1"), 4, 0, {0, 1}).cores, std::vector<int>{1});
  const CpuShare share = ShareOfCores(*ParseSlot("cpu:2"), 4, 0, {0, 1});
  EXPECT_EQ(share.threads, 1);
  EXPECT_TRUE(share.cores.empty());
}

TEST(CpuShareTest, SlotsWithoutANumberAreNotPinned) {
  EXPECT_EQ(ShareOfCores(*ParseSlot("cpu"), 1, 0, {0, 1}).threads, 2);
  EXPECT_TRUE(ShareOfCores(*ParseSlot("cpu"), 1, 0, {0, 1}).cores.empty());
  EXPECT_EQ(ShareOfCores(*ParseSlot("cuda:3"), 4, 0, {0, 1, 2, 3, 4, 5, 6, 7}).threads, 2);
  EXPECT_TRUE(ShareOfCores(*ParseSlot("cuda:0"), 4, 0, {0, 1, 2, 3}).cores.empty());
}

TEST(StorageTest, TheFolderKeepsItsId) {
  TempFolder root;
  const auto first = OpenStorage(root / "a/b");
  const auto again = OpenStorage(root / "a/b");
  const auto other = OpenStorage(root / "c");
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ(first->size(), 32u);
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *other);
}

TEST(StorageTest, AnInvalidMarkerIsRefusedByName) {
  TempFolder root;
  root.Write("dtrain-storage-id", "short\n");
  EXPECT_EQ(OpenStorage(root.path()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(StorageTest, ACheckpointIsGoneOnlyWhereItsStorageIsThere) {
  TempFolder root;
  const std::string storage = root / "storage";
  const auto id = OpenStorage(storage);
  ASSERT_TRUE(id.ok());
  std::filesystem::create_directories(storage + "/1/2/a1/step-5");
  EXPECT_FALSE(IsGone(storage, *id, "1/2/a1/step-5"));
  EXPECT_TRUE(IsGone(storage, *id, "1/2/a1/step-6"));
  EXPECT_TRUE(IsGone(storage, *id, "9/9/a1/step-6"));
  EXPECT_FALSE(IsGone(storage, std::string(32, '0'), "1/2/a1/step-6")) << "another storage";
  EXPECT_FALSE(IsGone(root / "not-mounted", *id, "1/2/a1/step-6"));
  for (const char* outside : {"/no/such", "../step-6", "1/../../step-6", ""}) {
    EXPECT_FALSE(IsGone(storage, *id, outside)) << outside;
  }
}

TEST(StorageTest, AFolderThatCannotBeMadeIsRefused) {
  TempFolder root;
  const std::string file = root.Write("file", "");
  EXPECT_EQ(OpenStorage(file + "/x").status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace dt
