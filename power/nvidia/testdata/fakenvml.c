/* A stand-in for libnvidia-ml with three GPUs: the first counts energy, the
 * second knows only its power, the third is not for us. Wrong handles, wrong
 * sensors, and calls before nvmlInit_v2 or after nvmlShutdown end the process.
 * fake_refuse sets what nvmlInit_v2 returns. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOT_SUPPORTED 3

static int running, refusal;
static uint64_t energy = 5000000; /* mJ */
static char gpus[2];

static void must(int ok, const char *what) {
	if (!ok) {
		fprintf(stderr, "fakenvml: %s\n", what);
		abort();
	}
}

static int index_of(void *device) {
	must(running, "call while not started");
	must(device == &gpus[0] || device == &gpus[1], "not a device");
	return device == &gpus[1];
}

int nvmlInit_v2(void) {
	if (refusal) return refusal;
	running++;
	return 0;
}
int nvmlShutdown(void) {
	must(running > 0, "stopped twice");
	running--;
	return 0;
}
void fake_refuse(int code) { refusal = code; }

int nvmlDeviceGetCount_v2(uint32_t *n) { must(running, "count"); *n = 3; return 0; }
int nvmlDeviceGetHandleByIndex_v2(uint32_t i, void **device) {
	must(running, "handle");
	if (i == 2) return 4; /* no permission */
	must(i < 2, "index");
	*device = &gpus[i];
	return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *device, uint64_t *mJ) {
	if (index_of(device)) return NOT_SUPPORTED;
	energy += 30000;
	*mJ = energy;
	return 0;
}
int nvmlDeviceGetPowerUsage(void *device, uint32_t *mW) { *mW = index_of(device) ? 61500 : 300000; return 0; }
int nvmlDeviceGetUtilizationRates(void *device, uint32_t *rates) {
	if (index_of(device)) return NOT_SUPPORTED;
	rates[0] = 97;
	rates[1] = 40;
	return 0;
}
int nvmlDeviceGetTemperature(void *device, uint32_t sensor, uint32_t *t) {
	must(sensor == 0, "sensor");
	*t = index_of(device) ? 35 : 61;
	return 0;
}
int nvmlDeviceGetClockInfo(void *device, uint32_t clock, uint32_t *mhz) {
	must(clock == 1, "clock");
	*mhz = index_of(device) ? 210 : 1980;
	return 0;
}
int nvmlDeviceGetMaxClockInfo(void *device, uint32_t clock, uint32_t *mhz) {
	must(clock == 1, "clock");
	*mhz = index_of(device) ? 1500 : 2520;
	return 0;
}
