// The core speaks in the words of CallModel; whoever imports the core speaks them too.

@_exported import CallModel
