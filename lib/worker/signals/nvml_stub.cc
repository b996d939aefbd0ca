// A libnvidia-ml.so.1 for tests, with the functions that gpu_memory.cc asks for: GPU 0 has 5 GB of
// memory free, GPU 1 ("GPU-77") 7 GB, GPU 2 has fallen off the bus.
#include <cstring>

extern "C" {

struct Memory {
  unsigned long long total, free, used;
};
constexpr int kSuccess = 0, kNotFound = 6, kGpuIsLost = 15;

// A device is a pointer to its own number.
static unsigned int numbers[] = {0, 1, 2};

int nvmlInit_v2() { return kSuccess; }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  if (index > 2) return kNotFound;
  *device = &numbers[index];
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strcmp(uuid, "GPU-77") != 0) return kNotFound;
  *device = &numbers[1];
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const unsigned int number = *static_cast<unsigned int*>(device);
  if (number == 2) return kGpuIsLost;
  const unsigned long long free = number == 0 ? 5'000'000'000 : 7'000'000'000;
  *memory = {.total = 16'000'000'000, .free = free, .used = 16'000'000'000 - free};
  return kSuccess;
}

}  // extern "C"
