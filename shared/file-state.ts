// Tells whether files are still those that were read: for files that are read again when they change.
import { stat } from 'node:fs/promises'

/**
 * Another text when a file was written, replaced, removed or became readable. Links are followed: a swapped link, as in the folders of mounted
 * secrets, leads to another file.
 */
export async function readFileState(paths: readonly string[]): Promise<string> {
  const states = paths.map(path =>
    stat(path, { bigint: true }).then(
      ({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(':'),
      () => 'unreadable'
    )
  )
  return (await Promise.all(states)).join(' ')
}
