// Package owners reads what controls a Pod: from the server that stores it, and from no cache, since what was created a moment
// ago counts. Our own kinds are asked of this server, past no proxy. Enter at Finder.Get.
package owners
