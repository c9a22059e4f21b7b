// What a careful CUDA program reaches for the same work on NV12 frames: cub::DeviceHistogram over luma, a curve from
// the counts, a table kernel over all planes, pinned memory in and out, several streams.
//
//   nvcc -O3 -std=c++17 -arch=native benches/gpu/cub.cu -o cub && ./cub
//
// Prints, for each size: ms a frame with copies and three streams, without overlap (one stream, synchronized: median
// and 99th percentile), and the kernels alone. The output is checked against the CPU's.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <vector>

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        cudaError_t error = (call);                                                                     \
        if (error != cudaSuccess) {                                                                     \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));         \
            std::exit(1);                                                                               \
        }                                                                                               \
    } while (0)

constexpr int STREAMS = 3;

// Stretches luma from its first to its last code that occurs; chroma is kept.
__host__ __device__ inline void curve(const int* counts, uint8_t* table) {
    int low = 0, high = 255;
    while (low < 255 && counts[low] == 0) low++;
    while (high > low && counts[high] == 0) high--;
    for (int code = 0; code < 256; code++) {
        int value = high > low ? (code - low) * 255 / (high - low) : code;
        table[code] = static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

__global__ void decide(const int* counts, uint8_t* table) {
    if (threadIdx.x == 0) curve(counts, table);
}

// 16 samples at a time; the first `luma` quads through the table, the rest as they are.
__global__ void apply(const uint4* in, uint4* out, int quads, int luma, const uint8_t* table) {
    __shared__ uint8_t codes[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) codes[i] = table[i];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        uint4 quad = in[i];
        if (i < luma) {
            uint32_t* words = &quad.x;
            for (int w = 0; w < 4; w++) {
                uint32_t word = words[w];
                words[w] = codes[word & 255] | codes[word >> 8 & 255] << 8 | codes[word >> 16 & 255] << 16 |
                           static_cast<uint32_t>(codes[word >> 24]) << 24;
            }
        }
        out[i] = quad;
    }
}

struct Lane {
    cudaStream_t stream;
    uint8_t *host_in, *host_out, *in, *out, *table;
    int* counts;
    void* scratch;
    size_t scratch_bytes;
};

struct Size {
    int width, height;
    int luma() const { return width * height; }
    int bytes() const { return luma() * 3 / 2; }
};

static void kernels(const Lane& lane, Size size) {
    size_t bytes = lane.scratch_bytes;
    CHECK(cub::DeviceHistogram::HistogramEven(
        lane.scratch, bytes, lane.in, lane.counts, 257, 0, 256, size.luma(), lane.stream));
    decide<<<1, 32, 0, lane.stream>>>(lane.counts, lane.table);
    apply<<<264, 256, 0, lane.stream>>>(reinterpret_cast<uint4*>(lane.in), reinterpret_cast<uint4*>(lane.out),
                                        size.bytes() / 16, size.luma() / 16, lane.table);
}

static void frame(const Lane& lane, Size size) {
    CHECK(cudaMemcpyAsync(lane.in, lane.host_in, size.bytes(), cudaMemcpyHostToDevice, lane.stream));
    kernels(lane, size);
    CHECK(cudaMemcpyAsync(lane.host_out, lane.out, size.bytes(), cudaMemcpyDeviceToHost, lane.stream));
}

static double now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void fill(uint8_t* bytes, int count) {
    uint32_t random = 1;
    for (int i = 0; i < count; i++) {
        random = random * 1664525 + 1013904223;
        bytes[i] = static_cast<uint8_t>(30 + (i / 97) % 150 + (random >> 28));
    }
}

static bool right(const Lane& lane, Size size) {
    int counts[256] = {};
    uint8_t table[256];
    for (int i = 0; i < size.luma(); i++) counts[lane.host_in[i]]++;
    curve(counts, table);
    for (int i = 0; i < size.bytes(); i++) {
        uint8_t wanted = i < size.luma() ? table[lane.host_in[i]] : lane.host_in[i];
        if (lane.host_out[i] != wanted) return false;
    }
    return true;
}

int main() {
    for (Size size : {Size{1920, 1080}, Size{3840, 2160}, Size{7680, 4320}}) {
        Lane lanes[STREAMS];
        for (Lane& lane : lanes) {
            CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
            CHECK(cudaMallocHost(&lane.host_in, size.bytes()));
            CHECK(cudaMallocHost(&lane.host_out, size.bytes()));
            CHECK(cudaMalloc(&lane.in, size.bytes()));
            CHECK(cudaMalloc(&lane.out, size.bytes()));
            CHECK(cudaMalloc(&lane.table, 256));
            CHECK(cudaMalloc(&lane.counts, 256 * sizeof(int)));
            lane.scratch = nullptr;
            lane.scratch_bytes = 0;
            CHECK(cub::DeviceHistogram::HistogramEven(
                lane.scratch, lane.scratch_bytes, lane.in, lane.counts, 257, 0, 256, size.luma(), lane.stream));
            CHECK(cudaMalloc(&lane.scratch, lane.scratch_bytes));
            fill(lane.host_in, size.bytes());
        }
        const int frames = 600;
        double best = 1e9;
        for (int run = 0; run < 4; run++) {
            double began = now();
            for (int i = 0; i < frames; i++) {
                CHECK(cudaStreamSynchronize(lanes[i % STREAMS].stream));
                frame(lanes[i % STREAMS], size);
            }
            CHECK(cudaDeviceSynchronize());
            best = std::min(best, (now() - began) / frames);
        }
        std::vector<double> latencies;
        for (int i = 0; i < frames; i++) {
            double began = now();
            frame(lanes[0], size);
            CHECK(cudaStreamSynchronize(lanes[0].stream));
            latencies.push_back(now() - began);
        }
        std::sort(latencies.begin(), latencies.end());
        cudaEvent_t from, to;
        CHECK(cudaEventCreate(&from));
        CHECK(cudaEventCreate(&to));
        CHECK(cudaEventRecord(from, lanes[0].stream));
        for (int i = 0; i < frames; i++) kernels(lanes[0], size);
        CHECK(cudaEventRecord(to, lanes[0].stream));
        CHECK(cudaEventSynchronize(to));
        float milliseconds = 0;
        CHECK(cudaEventElapsedTime(&milliseconds, from, to));
        std::printf("CUB %dx%d: %.3f ms a frame on %d streams, alone %.3f / %.3f ms, kernels %.4f ms, %s\n", size.width,
                    size.height, best, STREAMS, latencies[frames / 2], latencies[frames * 99 / 100],
                    milliseconds / frames, right(lanes[0], size) ? "right" : "WRONG");
        for (Lane& lane : lanes) {
            CHECK(cudaStreamDestroy(lane.stream));
            for (void* memory : {(void*)lane.in, (void*)lane.out, (void*)lane.table, (void*)lane.counts, lane.scratch})
                CHECK(cudaFree(memory));
            CHECK(cudaFreeHost(lane.host_in));
            CHECK(cudaFreeHost(lane.host_out));
        }
    }
    return 0;
}
