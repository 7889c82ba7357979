package ioreport

func openMachine() (*machine, error) {
	return openNative(libraries{
		coreFoundation: "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation",
		ioKit:          "/System/Library/Frameworks/IOKit.framework/IOKit",
		ioReport:       "/usr/lib/libIOReport.dylib",
		system:         "/usr/lib/libSystem.B.dylib",
		objc:           "/usr/lib/libobjc.A.dylib",
	})
}
