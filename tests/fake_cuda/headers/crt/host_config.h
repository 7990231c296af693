// host_config.h: NVIDIA's lists the compilers that nvcc takes; nvcc does not compile here.
#pragma once
