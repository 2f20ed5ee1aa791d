// A small disk for a gateway, in mounts of its own (Linux, as root).

import { spawnSync } from 'node:child_process'

/** The command that runs another one with a small disk of its own in a folder, half of it taken by the file `ballast`. */
export const withSmallDisk = (disk: string): string[] => {
  const script = `mount -t tmpfs -o size=6m tmpfs ${disk} && head -c 3145728 /dev/zero >${disk}/ballast && exec "$@"`
  return ['unshare', '--mount', 'sh', '-c', script, 'sh']
}

/** Why this machine gives no disk; false where it does. */
export function whyWithoutDisk(): string | false {
  const [program = '', ...args] = withSmallDisk('/mnt')
  return spawnSync(program, [...args, 'true']).status === 0 ? false : 'this machine gives no disk of its own'
}
