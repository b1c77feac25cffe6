// Command demo is the program of the images kruise.local/demo:v1 and :v2.
//
// It serves HTTP on port 8080, or on the address in the variable ADDRESS, and exits at once on SIGTERM: / answers the
// version and nothing else, and /burn?seconds=N&millicores=M uses that much processor time, for tests of autoscaling, and
// answers when it is done. The variable BURN_MILLICORES makes it use that much for as long as it runs. RUN_SECONDS makes it
// end by itself, with success, after that time: for jobs. IGNORE_SIGTERM makes it exit on SIGKILL alone. With the arguments
// sleep N it does nothing for N seconds: for hooks. With write FILE it writes a line into a file each second, and with follow FILE it
// prints the lines of a file: for log agents.
package main
