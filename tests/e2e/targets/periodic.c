/*
 * Lives long enough for the leader to write what it writes at every interval (50 ms in the case),
 * burning CPU in a thread, with files and sockets open. Also expects what is written once per dump.
 */
#include "tests/e2e/targets/truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

static void *burn(void *unused)
{
	struct timespec now, end;

	pthread_setname_np(pthread_self(), "burner");
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += 2;
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec < end.tv_sec);
	(void)unused;
	return NULL;
}

static void expect_periodic(void)
{
	truth("expect jdk.CPULoad count>=5 jvmUser>=0 machineTotal<=1.01");
	truth("expect jdk.CPULoad count>=1 machineTotal>=0.01");
	truth("expect jdk.ThreadCPULoad count>=3 thread=burner user<=1.1");
	truth("expect jdk.ThreadContextSwitchRate count>=5 switchRate>=0");
	truth("expect jdk.PhysicalMemory count>=5 totalSize>=1000000 usedSize>=1000000");
	truth("expect jdk.ResidentSetSize count>=5 size>=100000 peak>=100000");
	truth("expect jdk.JavaThreadStatistics count>=5 activeCount>=1 peakCount>=1");
	truth("expect jdk.JavaThreadStatistics count>=1 activeCount>=2");
	truth("expect holter.HeapSummary count>=5 process=%d", getpid());
	truth("expect holter.FileDescriptors count>=2 process=%d open>=13 sockets>=4 limit>=16",
	      getpid());
	truth("expect jdk.NetworkUtilization count>=1");
	truth("expect holter.Cgroup count>=1");
}

static void expect_once(void)
{
	truth("expect jdk.OSInformation count=1 osVersion~Linux");
	truth("expect jdk.CPUInformation count=1 hwThreads>=1 cores>=1 sockets>=1");
	truth("expect jdk.CPUTimeStampCounter count=1 fastTimeFrequency>=1000000");
	truth("expect jdk.JVMInformation count=1 pid=%d jvmName~periodic", getpid());
	truth("expect jdk.InitialEnvironmentVariable count=1 key=PATH value!=null");
	truth("expect jdk.InitialEnvironmentVariable count=1 key=HOLTER_TEST_PASSWORD "
	      "value!=hunter2");
	truth("expect jdk.NativeLibrary count>=1 name~libc.so.6 buildId~^[0-9a-f]{40}$ "
	      "loaded=true");
	truth("expect jdk.NativeLibrary count>=1 name~periodic");
	truth("expect jdk.SystemProcess count>=1 pid=%d commandLine~periodic", getpid());
	truth("expect jdk.ActiveRecording count=1 recordingStart!=null");
	truth("expect jdk.ActiveSetting count>=100");
	truth("expect jdk.ActiveSetting name=threshold value~ms");
	truth("expect jdk.DumpReason count=1 reason!=null");
	truth("expect jdk.DataLoss count=0");
	truth("expect holter.Coverage count>=0");
	truth("expect holter.SelfCost count=1 ringBytes>=8192 regionBytes>=%d", 16 << 20);
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 6; i++)
		TRUTH_CHECK(open("/dev/null", O_RDONLY) >= 0);
	for (int i = 0; i < 4; i++)
		TRUTH_CHECK(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	TRUTH_CHECK(pthread_create(&thread, NULL, burn, NULL) == 0);
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
	expect_periodic();
	expect_once();
	truth_ready();
	return 0;
}
