// Package owners reads the owner of a Pod. It asks the server that stores the owner instead of a cache, because an owner that
// was created a moment ago counts. It reads Kruise kinds directly from this server, without a proxy. Enter at Finder.Get.
package owners
