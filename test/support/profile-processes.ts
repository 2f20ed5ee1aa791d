// Starts a gateway of processes with a profile file, for tests that look at its processes.

import type { Test } from 'tap'
import { type StartedGateway, startGateway } from './gateway.ts'
import { type ProfileOptions, startWithProfiles, type WithProfileFile } from './profile-gateway.ts'

/** As `startProfileGateway`, with processes of its own. */
export function startProfileProcesses(t: Test, options: ProfileOptions): Promise<StartedGateway & WithProfileFile> {
  return startWithProfiles(t, options, startGateway)
}
