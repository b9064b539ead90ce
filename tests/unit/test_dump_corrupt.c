/*
 * Regions damaged at random places: every dump ends, and its file is without fault
 * (region_corrupt.h).
 */
#include <check.h>

#include "tests/unit/region_corrupt.h"

#define DUMPS 60
#define PATCHES 40

static uint64_t seed;

static uint32_t next_random(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

static void make_patch(struct corrupt_patch *patch)
{
	static const uint64_t tricky[] = { 0,	       1,	   0xff,       0xffff,
					   0x7fffffff, 0xffffffff, 0x80000000, UINT64_MAX,
					   1ull << 63, INT64_MAX,  4096,       1ull << 48,
					   0x100000000 };
	uint64_t value = next_random() % 3 ? tricky[next_random() % ARRAY_LEN(tricky)]
					   : (uint64_t)next_random() << 32 | next_random();

	patch->page = (uint16_t)next_random();
	patch->offset = (uint16_t)next_random();
	patch->how = (uint8_t)next_random();
	memcpy(patch->value, &value, sizeof(value));
}

START_TEST(intact)
{
	static struct corrupt corrupt;
	const char *wrong;

	corrupt_begin(&corrupt);
	wrong = corrupt_dump(&corrupt, NULL, 0, 0);
	ck_assert_msg(wrong == NULL, "%s", wrong);
	wrong = corrupt_dump(&corrupt, NULL, 0, 1);
	ck_assert_msg(wrong == NULL, "%s", wrong);
	corrupt_end(&corrupt);
}
END_TEST

/* Few and many patches: one flipped bit is found by other checks than a page of noise. */
START_TEST(damaged)
{
	static struct corrupt corrupt;
	struct corrupt_patch patches[PATCHES];

	seed = (uint64_t)_i * 7919 + 1;
	corrupt_begin(&corrupt);
	for (int i = 0; i < DUMPS; i++) {
		uint64_t begun = seed;
		uint32_t count = 1 + next_random() % (i % 2 ? PATCHES : 3);
		const char *wrong;

		for (uint32_t k = 0; k < count; k++)
			make_patch(&patches[k]);
		wrong = corrupt_dump(&corrupt, patches, count, i % 5 == 0);
		ck_assert_msg(wrong == NULL, "round %d, %u patches, state %lu: %s", i, count, begun,
			      wrong);
	}
	corrupt_end(&corrupt);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dump_corrupt");
	TCase *one = tcase_create("dump_corrupt");
	SRunner *runner;
	int failed;

	tcase_set_timeout(one, 100);
	tcase_add_test(one, intact);
	tcase_add_loop_test(one, damaged, 0, 4);
	suite_add_tcase(suite, one);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
