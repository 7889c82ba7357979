/* A Mac's libraries as far as package ioreport calls them, for its tests on
   other systems. Whoever passes what the real ones wouldn't take, uses an object
   that is gone or of another kind, or releases what isn't his, is aborted with
   a sentence. fake_live counts what is still alive: objects, handles,
   connections, tokens, pools.

   The machine is an Ultra: GPU 30 W, CPU 7 W + 3 W by die, DRAM 2 W + 2 W, all
   counters true at the instant of a sample. Its ticks are 125/3 ns. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum kind { DEAD, STRING, ARRAY, DICT, DATA, NUMBER, CHANNEL, SUBSCRIPTION, CLIENT, SERVICE, EVENT };

typedef struct obj {
	enum kind kind;
	int rc, immortal;
	int64_t n, cap;
	struct obj **keys, **items; /* of dictionaries and arrays */
	char *bytes;                /* of strings and data */
	int64_t value;
	const struct desc *desc; /* of channels */
	struct obj *raw, *names[4], *next;
	uint64_t at; /* ticks of a channel's sample */
} obj;

static int live, pools;
static char failing[64];
static int virtual_machine;
static obj *graveyard;

static void die(const char *fmt, ...) {
	va_list a;
	va_start(a, fmt);
	fprintf(stderr, "fake library: ");
	vfprintf(stderr, fmt, a);
	fprintf(stderr, "\n");
	fflush(stderr);
	abort();
}
#define FAILS(name) (strcmp(failing, name) == 0)
#define NEED(what, cond) do { if (!(cond)) die("%s: wrong " what, __func__); } while (0)

static obj *make(enum kind k) {
	obj *o = graveyard;
	if (o) graveyard = o->next;
	else o = malloc(sizeof *o);
	memset(o, 0, sizeof *o);
	o->kind = k;
	o->rc = 1;
	live++;
	return o;
}
static obj *is(void *p, enum kind k, const char *where) {
	obj *o = p;
	if (!o) die("%s: a null object", where);
	if (o->kind != k) die("%s: an object of kind %d, not %d", where, o->kind, k);
	return o;
}
#define IS(p, k) is(p, k, __func__)
static obj *retain(obj *o) { o->rc++; return o; }

void CFRelease(void *p) {
	obj *o = p;
	if (!o) die("CFRelease of null");
	if (o->kind == DEAD) die("CFRelease of a dead object");
	if (o->immortal) die("CFRelease of what came from a Get function");
	if (--o->rc) return;
	for (int64_t i = 0; i < o->n && o->items; i++) {
		if (o->keys) CFRelease(o->keys[i]);
		CFRelease(o->items[i]);
	}
	if (o->raw) CFRelease(o->raw);
	for (int i = 0; i < 4; i++)
		if (o->names[i]) { o->names[i]->immortal = 0; CFRelease(o->names[i]); }
	free(o->keys), free(o->items), free(o->bytes);
	o->kind = DEAD;
	o->next = graveyard;
	graveyard = o;
	live--;
}

/* CoreFoundation */
long kCFTypeArrayCallBacks[5], kCFTypeDictionaryKeyCallBacks[6], kCFTypeDictionaryValueCallBacks[5];

static obj *str(const char *s) { obj *o = make(STRING); o->bytes = strdup(s); return o; }
static obj *borrowed(obj **slot, const char *s) {
	if (!*slot) { *slot = str(s); (*slot)->immortal = 1; }
	return *slot;
}
void *CFStringCreateWithCString(void *a, const char *s, uint32_t enc) {
	NEED("allocator", !a); NEED("string", s); NEED("encoding", enc == 0x08000100);
	return str(s);
}
unsigned char CFStringGetCString(void *p, char *b, long n, uint32_t enc) {
	obj *o = IS(p, STRING);
	NEED("buffer", b && n > 0); NEED("encoding", enc == 0x08000100);
	if ((long)strlen(o->bytes) + 1 > n) return 0;
	strcpy(b, o->bytes);
	return 1;
}
static void add(obj *o, obj *key, obj *item) {
	if (o->n == o->cap) {
		o->cap = o->cap ? 2 * o->cap : 8;
		o->items = realloc(o->items, o->cap * sizeof *o->items);
		if (o->kind == DICT) o->keys = realloc(o->keys, o->cap * sizeof *o->keys);
	}
	if (key) o->keys[o->n] = retain(key);
	o->items[o->n++] = retain(item);
}
static void give(obj *o, obj *item) { add(o, 0, item); CFRelease(item); }
static void put(obj *o, const char *key, obj *item) {
	obj *k = str(key);
	add(o, k, item);
	CFRelease(k), CFRelease(item);
}
long CFArrayGetCount(void *p) { return IS(p, ARRAY)->n; }
void *CFArrayGetValueAtIndex(void *p, long i) {
	obj *o = IS(p, ARRAY);
	NEED("index", i >= 0 && i < o->n);
	return o->items[i];
}
void *CFArrayCreateMutable(void *a, long cap, void *cb) {
	NEED("allocator", !a); NEED("capacity", cap == 0); NEED("callbacks", cb == kCFTypeArrayCallBacks);
	return FAILS("CFArrayCreateMutable") ? 0 : make(ARRAY);
}
void CFArrayAppendValue(void *p, void *v) { NEED("value", v); add(IS(p, ARRAY), 0, v); }
static obj *element(obj *channel);
void *CFDictionaryGetValue(void *p, void *k) {
	obj *key = IS(k, STRING), *o = p;
	if (o && o->kind == CHANNEL) return strcmp(key->bytes, "RawElements") ? 0 : element(o);
	o = IS(p, DICT);
	for (int64_t i = 0; i < o->n; i++)
		if (!strcmp(o->keys[i]->bytes, key->bytes)) return o->items[i];
	return 0;
}
void CFDictionarySetValue(void *p, void *k, void *v) {
	obj *o = IS(p, DICT), *key = IS(k, STRING);
	NEED("value", v);
	for (int64_t i = 0; i < o->n; i++)
		if (!strcmp(o->keys[i]->bytes, key->bytes)) {
			obj *old = o->items[i];
			o->items[i] = retain(v);
			CFRelease(old);
			return;
		}
	add(o, key, v);
}
void *CFDictionaryCreateMutableCopy(void *a, long cap, void *p) {
	NEED("allocator", !a); NEED("capacity", cap == 0);
	obj *o = IS(p, DICT);
	if (FAILS("CFDictionaryCreateMutableCopy")) return 0;
	obj *c = make(DICT);
	for (int64_t i = 0; i < o->n; i++) add(c, o->keys[i], o->items[i]);
	return c;
}
void *CFDictionaryCreate(void *a, void **keys, void **values, long n, void *kcb, void *vcb) {
	NEED("allocator", !a); NEED("count", n == 2);
	NEED("callbacks", kcb == kCFTypeDictionaryKeyCallBacks && vcb == kCFTypeDictionaryValueCallBacks);
	obj *d = make(DICT);
	for (long i = 0; i < n; i++) add(d, IS(keys[i], STRING), values[i]);
	return d;
}
void *CFNumberCreate(void *a, long type, void *v) {
	NEED("allocator", !a); NEED("type", type == 3);
	obj *o = make(NUMBER);
	o->value = *(int32_t *)v;
	return o;
}
long CFDataGetLength(void *p) { return IS(p, DATA)->n; }
void *CFDataGetBytePtr(void *p) { return IS(p, DATA)->bytes; }
unsigned long CFGetTypeID(void *p) { NEED("object", p && ((obj *)p)->kind != DEAD); return 100 + ((obj *)p)->kind; }
unsigned long CFDataGetTypeID(void) { return 100 + DATA; }
static obj *data(const void *b, int64_t n) {
	obj *o = make(DATA);
	o->bytes = malloc(n);
	memcpy(o->bytes, b, n);
	o->n = n;
	return o;
}

/* objc */
void *objc_autoreleasePoolPush(void) { live++; return (void *)(intptr_t)++pools; }
void objc_autoreleasePoolPop(void *p) {
	NEED("pool", (intptr_t)p == pools);
	pools--, live--;
}

/* libSystem */
uint64_t mach_absolute_time(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((uint64_t)t.tv_sec * 1000000000 + t.tv_nsec) * 3 / 125;
}
int mach_timebase_info(uint32_t *info) { info[0] = 125, info[1] = 3; return 0; }
uint32_t mach_task_self(void) { return 0x203; }
int sysctlbyname(const char *name, void *old, size_t *oldn, void *new, size_t newn) {
	NEED("new value", !new && !newn);
	if (strcmp(name, "kern.hv_vmm_present")) return -1;
	NEED("size", *oldn == 4);
	*(int32_t *)old = virtual_machine;
	return 0;
}
uint32_t notify_register_check(const char *name, int *token) {
	NEED("name", !strcmp(name, "com.apple.system.thermalpressurelevel"));
	if (FAILS("notify_register_check")) return 1;
	*token = 77, live++;
	return 0;
}
uint32_t notify_get_state(int token, uint64_t *state) { NEED("token", token == 77); *state = 1; return FAILS("notify_get_state"); }
uint32_t notify_cancel(int token) { NEED("token", token == 77); live--; return 0; }

/* IOReport */
#define W(w, perJ) ((w) * (perJ) * 125e-9 / 3) /* counts a tick */
static const struct desc {
	const char *group, *subgroup, *name, *unit;
	double per_tick;
	const char *states[6];
	double share[6];
} channels[] = {
	{"Energy Model", 0, "GPU Energy", "nJ  ", W(30, 1e9)},
	{"Energy Model", 0, "DIE_0_CPU Energy", "mJ", W(7, 1e3)},
	{"Energy Model", 0, "DIE_1_CPU Energy", "mJ", W(3, 1e3)},
	{"Energy Model", 0, "PCPU0_SRAM", "mJ", W(90, 1e3)},
	{"Energy Model", 0, "GPU0_0", "mJ", W(90, 1e3)},
	{"Energy Model", 0, "ANE0_0", "mJ", 0},
	{"Energy Model", 0, "ANE0_1", "mJ", 0},
	{"Energy Model", 0, "DRAM0_0", "mJ", W(2, 1e3)},
	{"Energy Model", 0, "DRAM0_1", "mJ", W(2, 1e3)},
	{"Energy Model", 0, "GPU SRAM0_0", "uJ", W(.5, 1e6)},
	{"CPU Stats", "CPU Core Performance States", "DIE_0_ECPU_CPU0", "24Mticks", 0, {"DOWN", "IDLE", "V0P0", "V1P1"}, {0, .75, .25, 0}},
	{"CPU Stats", "CPU Core Performance States", "DIE_0_PCPU_CPU0", "24Mticks", 0, {"DOWN", "IDLE", "V0P0", "V1P1", "V2P2"}, {.25, .25, 0, .25, .25}},
	{"CPU Stats", "CPU Core Performance States", "DIE_1_PCPU_CPU0", "24Mticks", 0, {"DOWN", "IDLE", "V0P0", "V1P1", "V2P2"}, {.25, .25, 0, .25, .25}},
	{"GPU Stats", "GPU Performance States", "GPUPH", "24Mticks", 0, {"OFF", "P1", "P2"}, {.25, .25, .5}},
	{"GPU Stats", "GPU Performance States", "BSTGPUPH", "24Mticks", 0, {"OFF", "P1", "P2"}, {1, 0, 0}},
};
#define CHANNELS ((int)(sizeof channels / sizeof *channels))

static obj *channel(const struct desc *d, uint64_t at) {
	obj *c = make(CHANNEL);
	c->desc = d, c->at = at;
	return c;
}
static obj *element(obj *c) {
	if (c->raw) return c->raw;
	unsigned char b[64] = {0};
	int64_t v = (int64_t)(c->desc->per_tick * c->at);
	b[16] = 1;
	memcpy(b + 24, &c->at, 8);
	memcpy(b + 32, &v, 8);
	return c->raw = data(b, sizeof b);
}
void *IOReportCopyChannelsInGroup(void *g, void *s, uint64_t a, uint64_t b, uint64_t c) {
	NEED("zero", !a && !b && !c);
	const char *group = IS(g, STRING)->bytes, *sub = s ? IS(s, STRING)->bytes : 0;
	if (virtual_machine || FAILS("IOReportCopyChannelsInGroup")) return 0;
	obj *d = make(DICT), *list = make(ARRAY);
	for (int i = 0; i < CHANNELS; i++)
		if (!strcmp(channels[i].group, group) && (!sub || (channels[i].subgroup && !strcmp(channels[i].subgroup, sub))))
			give(list, channel(&channels[i], 0));
	put(d, "IOReportChannels", list);
	put(d, "QueryOpts", make(NUMBER));
	return d;
}
static obj *list_of(obj *d) {
	for (int64_t i = 0; i < d->n; i++)
		if (!strcmp(d->keys[i]->bytes, "IOReportChannels")) return IS(d->items[i], ARRAY);
	die("a list of channels without its key");
	return 0;
}
void IOReportMergeChannels(void *into, void *from, void *null) {
	NEED("null", !null);
	obj *a = list_of(IS(into, DICT)), *b = list_of(IS(from, DICT));
	for (int64_t i = 0; i < b->n; i++) add(a, 0, b->items[i]);
}
void *IOReportCreateSubscription(void *a, void *ch, void **out, uint64_t d, void *e) {
	NEED("null", !a && !d && !e); NEED("result", out);
	obj *list = list_of(IS(ch, DICT));
	if (FAILS("IOReportCreateSubscription")) return 0;
	obj *copy = make(DICT), *l = make(ARRAY);
	for (int64_t i = 0; i < list->n; i++) add(l, 0, list->items[i]);
	put(copy, "IOReportChannels", l);
	*out = copy;
	return make(SUBSCRIPTION);
}
void *IOReportCreateSamples(void *s, void *c, void *null) {
	IS(s, SUBSCRIPTION); NEED("null", !null); NEED("pool", pools > 0);
	obj *list = list_of(IS(c, DICT));
	if (FAILS("IOReportCreateSamples")) return 0;
	uint64_t now = mach_absolute_time();
	obj *d = make(DICT), *l = make(ARRAY);
	for (int64_t i = 0; i < list->n; i++) give(l, channel(list->items[i]->desc, now));
	put(d, "IOReportChannels", l);
	return d;
}
void *IOReportChannelGetGroup(void *c) { obj *o = IS(c, CHANNEL); return borrowed(&o->names[0], o->desc->group); }
void *IOReportChannelGetSubGroup(void *c) { obj *o = IS(c, CHANNEL); return o->desc->subgroup ? borrowed(&o->names[1], o->desc->subgroup) : 0; }
void *IOReportChannelGetChannelName(void *c) { obj *o = IS(c, CHANNEL); return borrowed(&o->names[2], o->desc->name); }
void *IOReportChannelGetUnitLabel(void *c) { obj *o = IS(c, CHANNEL); return borrowed(&o->names[3], o->desc->unit); }
int64_t IOReportSimpleGetIntegerValue(void *c, int32_t zero) {
	obj *o = IS(c, CHANNEL);
	NEED("zero", !zero);
	return o->desc->states[0] ? INT64_MIN : (int64_t)(o->desc->per_tick * o->at);
}
int32_t IOReportStateGetCount(void *c) {
	obj *o = IS(c, CHANNEL);
	int32_t n = 0;
	while (n < 6 && o->desc->states[n]) n++;
	return n;
}
static obj *state_names[CHANNELS][6];
void *IOReportStateGetNameForIndex(void *c, int32_t i) {
	obj *o = IS(c, CHANNEL);
	NEED("state", i >= 0 && i < IOReportStateGetCount(c));
	obj **slot = &state_names[o->desc - channels][i];
	if (!*slot) live--; /* one for good */
	return borrowed(slot, o->desc->states[i]);
}
#ifndef WITHOUT_RESIDENCY
int64_t IOReportStateGetResidency(void *c, int32_t i) {
	obj *o = IS(c, CHANNEL);
	NEED("state", i >= 0 && i < IOReportStateGetCount(c));
	return (int64_t)(o->desc->share[i] * o->at);
}
#endif

/* IOKit: handles 1000+ are iterators, 2000+ entries, 3000 the connection */
static uint32_t iterator_at;
static obj *matched;
void *IOServiceMatching(const char *class) { matched = str(class); return matched; }
int IOServiceGetMatchingServices(uint32_t port, void *match, uint32_t *it) {
	NEED("port", !port);
	obj *m = IS(match, STRING);
	iterator_at = !strcmp(m->bytes, "AppleSMC") ? 2000 : !strcmp(m->bytes, "AppleARMIODevice") ? 2010 : 0;
	CFRelease(match);
	if (!iterator_at || virtual_machine || FAILS("IOServiceGetMatchingServices")) return 1;
	*it = 1000, live++;
	return 0;
}
uint32_t IOIteratorNext(uint32_t it) {
	NEED("iterator", it == 1000);
	if (iterator_at % 10 == 2) return 0;
	live++;
	return iterator_at++;
}
int IORegistryEntryGetName(uint32_t e, char *name) {
	const char *names[] = {"AppleSMCOther", "AppleSMCKeysEndpoint"}, *devices[] = {"aic", "pmgr"};
	NEED("entry", e / 10 == 200 || e / 10 == 201);
	strcpy(name, e < 2010 ? names[e - 2000] : devices[e - 2010]);
	return 0;
}
int IORegistryEntryCreateCFProperties(uint32_t e, void **props, void *a, uint32_t opt) {
	NEED("entry", e == 2011); NEED("zero", !a && !opt);
	if (FAILS("IORegistryEntryCreateCFProperties")) return 1;
	uint32_t ecpu[] = {600000000, 1, 1000000000, 2}, pcpu[] = {600000000, 1, 2000000000, 2, 3200000000u, 3}, gpu[] = {0, 0, 400000000, 1, 1400000000, 2};
	obj *d = make(DICT);
	put(d, "voltage-states1-sram", data(ecpu, sizeof ecpu));
	put(d, "voltage-states5-sram", data(pcpu, sizeof pcpu));
	put(d, "voltage-states9", data(gpu, sizeof gpu));
	put(d, "name", str("pmgr"));
	*props = d;
	return 0;
}
uint32_t IOObjectRelease(uint32_t h) { NEED("handle", h >= 1000 && h < 3000); live--; return 0; }

/* the SMC */
struct smc { uint32_t key; uint8_t vers[8]; uint8_t limits[16]; uint32_t size, type; uint8_t attributes, pad[3]; uint8_t result, status, data8, pad2; uint32_t data32; uint8_t bytes[32]; };
static const struct { const char *key, *type; float value; } keys[] = {
	{"#KEY", "ui32", 0}, {"PSTR", "flt ", 62.5}, {"Tp01", "flt ", 60}, {"Tp02", "flt ", 70}, {"Tp03", "flt ", 0},
	{"Te05", "flt ", 50}, {"Tg0a", "flt ", 48}, {"Tg0b", "flt ", 5}, {"Ts0P", "flt ", 30}, {"TpXX", "ui8 ", 0},
};
#define KEYS (sizeof keys / sizeof *keys)
static uint32_t fourcc(const char *s) { return (uint32_t)(uint8_t)s[0] << 24 | (uint32_t)(uint8_t)s[1] << 16 | (uint32_t)(uint8_t)s[2] << 8 | (uint8_t)s[3]; }
int IOServiceOpen(uint32_t dev, uint32_t task, uint32_t type, uint32_t *conn) {
	NEED("device", dev == 2001); NEED("task", task == 0x203); NEED("type", !type);
	if (FAILS("IOServiceOpen")) return (int)0xe00002c1;
	*conn = 3000, live++;
	return 0;
}
int IOServiceClose(uint32_t conn) { NEED("connection", conn == 3000); live--; return 0; }
int IOConnectCallStructMethod(uint32_t conn, uint32_t sel, struct smc *in, size_t inn, struct smc *out, size_t *outn) {
	NEED("connection", conn == 3000); NEED("selector", sel == 2); NEED("size", inn == 80 && *outn == 80 && sizeof *in == 80);
	if (FAILS("IOConnectCallStructMethod")) return (int)0xe00002bc;
	memset(out, 0, sizeof *out);
	if (in->data8 == 8) {
		if (in->data32 < KEYS) out->key = fourcc(keys[in->data32].key);
		else out->result = 132;
		return 0;
	}
	for (size_t i = 0; i < KEYS; i++) {
		if (fourcc(keys[i].key) != in->key) continue;
		int one = !strcmp(keys[i].type, "ui8 ");
		if (FAILS(keys[i].key)) { out->result = 132; return 0; }
		if (in->data8 == 9) { out->size = one ? 1 : 4, out->type = fourcc(keys[i].type); return 0; }
		NEED("command", in->data8 == 5); NEED("key info", in->size == (one ? 1 : 4) && in->type == fourcc(keys[i].type));
		if (i == 0) out->bytes[3] = KEYS;
		else memcpy(out->bytes, &keys[i].value, 4);
		return 0;
	}
	out->result = 132;
	return 0;
}

/* HID */
static const struct { const char *product; double celsius; } sensors[] = {
	{"pACC MTR Temp Sensor0", 55}, {"eACC MTR Temp Sensor1", 45}, {"GPU MTR Temp Sensor1", 41.5}, {"gas gauge battery", 30},
};
void *IOHIDEventSystemClientCreate(void *a) { NEED("allocator", !a); return FAILS("IOHIDEventSystemClientCreate") ? 0 : make(CLIENT); }
int IOHIDEventSystemClientSetMatching(void *c, void *m) {
	obj *d = IS(m, DICT);
	IS(c, CLIENT);
	NEED("matching", !strcmp(d->keys[0]->bytes, "PrimaryUsagePage") && IS(d->items[0], NUMBER)->value == 0xff00);
	NEED("matching", !strcmp(d->keys[1]->bytes, "PrimaryUsage") && IS(d->items[1], NUMBER)->value == 5);
	return 0;
}
void *IOHIDEventSystemClientCopyServices(void *c) {
	IS(c, CLIENT);
	if (virtual_machine || FAILS("IOHIDEventSystemClientCopyServices")) return 0;
	obj *l = make(ARRAY);
	for (int i = 0; i < 4; i++) {
		obj *s = make(SERVICE);
		s->value = i;
		give(l, s);
	}
	return l;
}
void *IOHIDServiceClientCopyProperty(void *s, void *k) {
	NEED("property", !strcmp(IS(k, STRING)->bytes, "Product"));
	return str(sensors[IS(s, SERVICE)->value].product);
}
void *IOHIDServiceClientCopyEvent(void *s, int64_t type, int32_t options, int64_t time) {
	obj *o = IS(s, SERVICE);
	NEED("type", type == 15); NEED("zero", !options && !time); NEED("pool", pools > 0);
	if (FAILS("IOHIDServiceClientCopyEvent")) return 0;
	obj *e = make(EVENT);
	e->value = o->value;
	return e;
}
double IOHIDEventGetFloatValue(void *e, uint32_t field) {
	obj *o = IS(e, EVENT);
	NEED("field", field == 15 << 16);
	return sensors[o->value].celsius;
}

/* for the tests */
int fake_live(void) { return live; }
void fake_fail(const char *name) { strncpy(failing, name, sizeof failing - 1); }
void fake_virtual(int on) { virtual_machine = on; }
