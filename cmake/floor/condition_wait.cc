// condition_wait.cc: std::condition_variable::wait as gcc 11 had it. gcc 12 gave the function a new
// version (GLIBCXX_3.4.30), which the libstdc++ of RHEL 9 lacks. Linked with --wrap.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

extern "C" void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* self, std::unique_lock<std::mutex>& lock) {
  pthread_cond_wait(self->native_handle(), lock.mutex()->native_handle());
}
