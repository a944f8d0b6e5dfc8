import { raiseLoopback } from "../../../src/adapters/platform/linux/box/network.ts";

/** For a stand in fresh namespaces: nothing there has a network yet. */
raiseLoopback();
