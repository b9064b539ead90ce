/*
 * C++ exceptions: each throw is counted, with its class, its text where that is kept in the object,
 * and the stack of who threw. Catching, rethrowing, destructors and uncaught_exceptions() work as
 * ever.
 */
#include "tests/e2e/targets/truth.h"

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#define NOINLINE __attribute__((noinline, noclone))

namespace shop
{
struct OrderError : std::runtime_error {
	explicit OrderError(int number)
	    : std::runtime_error("order " + std::to_string(number)), number(number)
	{
	}
	/* Called by the program alone: the recorder reads what the object keeps. */
	const char *what() const noexcept override
	{
		asked++;
		return std::runtime_error::what();
	}
	int number;
	static int asked;
};
int OrderError::asked;
struct Tag {
};
struct Many : virtual std::exception {
};
} // namespace shop

struct Guard {
	static int gone, in_flight;
	~Guard()
	{
		gone++;
		in_flight += std::uncaught_exceptions();
	}
};
int Guard::gone, Guard::in_flight;

NOINLINE static void check_order(int number)
{
	Guard guard;

	if (number >= 0)
		throw shop::OrderError(number);
}

NOINLINE static void serve_order(int number)
{
	Guard guard;

	check_order(number);
	__asm__ volatile("");
}

template <typename T> NOINLINE static void throw_it(const T &value)
{
	throw value;
}

template <typename T> static int caught(const T &value)
{
	try {
		throw_it(value);
	} catch (const T &) {
		return 1;
	}
	return 0;
}

int main()
{
	int count = 0;

	for (int i = 0; i < 50; i++) {
		try {
			serve_order(i);
		} catch (const std::exception &error) {
			count += dynamic_cast<const shop::OrderError *>(&error)->number == i;
		}
	}
	TRUTH_CHECK(count == 50 && Guard::gone == 100 && Guard::in_flight == 100);
	TRUTH_CHECK(std::uncaught_exceptions() == 0 && shop::OrderError::asked == 0);
	truth("expect jdk.JavaExceptionThrow count=50 thrownClass.name=shop::OrderError "
	      "'message~^order'");
	truth("expect jdk.JavaExceptionThrow count=1 'message=order 17'");
	truth("expect-stack jdk.JavaExceptionThrow count=50 thrownClass.name=shop::OrderError "
	      "~check_order ~serve_order main");
	TRUTH_CHECK(caught(42) && caught(std::string("text")) && caught(shop::Tag()) &&
		    caught(shop::Many()) && caught(std::out_of_range("too far")) &&
		    caught(std::system_error(ENOENT, std::generic_category(), "no way")));
	truth("expect jdk.JavaExceptionThrow count=1 thrownClass.name=int message=null");
	truth("expect jdk.JavaExceptionThrow count=1 thrownClass.name=shop::Tag message=null");
	truth("expect jdk.JavaExceptionThrow count=1 thrownClass.name=shop::Many message=null");
	truth("expect jdk.JavaExceptionThrow count=1 thrownClass.name=std::out_of_range "
	      "'message=too far'");
	truth("expect jdk.JavaExceptionThrow count=1 thrownClass.name=std::system_error "
	      "'message~^no way'");
	/* To throw again is no new throw. */
	try {
		try {
			throw std::logic_error("once");
		} catch (...) {
			throw;
		}
	} catch (const std::logic_error &error) {
		TRUTH_CHECK(strcmp(error.what(), "once") == 0);
	}
	truth("expect jdk.JavaExceptionThrow count=1 thrownClass.name=std::logic_error "
	      "message=once");
	std::thread([] { TRUTH_CHECK(caught(1.5)); }).join();
	truth("expect jdk.JavaExceptionThrow count=1 thrownClass.name=double");
	std::exception_ptr kept = std::make_exception_ptr(shop::OrderError(7));
	try {
		std::rethrow_exception(kept);
	} catch (const shop::OrderError &error) {
		TRUTH_CHECK(error.number == 7);
	}
	truth_flush();
	return 0;
}
