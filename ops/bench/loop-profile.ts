// Explains the long blocks of an event loop: a processor profile, reduced to the samples within the blocks.

import type { Profiler } from 'node:inspector'

export interface HotSpot {
  /** Name and place of a function. */
  place: string
  ms: number
}

/** A part of the time on the clock of `process.hrtime`, which the profiler uses too. */
export interface Block {
  fromUs: number
  toUs: number
}

export interface LoopProfile {
  /** Ends the profile. The time within the blocks by the innermost function of the gateway and what that called, the largest first. */
  stop(blocks: readonly Block[]): Promise<HotSpot[]>
}

const INTERVAL_US = 500

/** Starts to profile this thread. */
export async function startProfile(): Promise<LoopProfile> {
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US })
  await session.post('Profiler.start')
  return {
    async stop(blocks) {
      const { profile } = await session.post('Profiler.stop')
      session.disconnect()
      return listHotSpots(profile, blocks)
    }
  }
}

function listHotSpots(profile: Profiler.Profile, blocks: readonly Block[]): HotSpot[] {
  const places = namePlaces(profile)
  const spent = new Map<string, number>()
  let atUs = profile.startTime
  let block = 0
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const deltaUs = profile.timeDeltas?.[index] ?? 0
    atUs += deltaUs
    while (block < blocks.length && (blocks[block]?.toUs ?? 0) < atUs) block++
    const current = blocks[block]
    if (current === undefined) break
    const place = places.get(id)
    if (atUs < current.fromUs || place === undefined) continue
    spent.set(place, (spent.get(place) ?? 0) + deltaUs / 1000)
  }
  return Array.from(spent, ([place, ms]) => ({ place, ms })).toSorted((left, right) => right.ms - left.ms)
}

/** For each node of the profile its function, behind the innermost function of the gateway that called it. */
function namePlaces({ nodes }: Profiler.Profile): Map<number, string> {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const places = new Map<number, string>()
  const visit = (id: number, owner: string): void => {
    const node = byId.get(id)
    if (node === undefined) return
    const { functionName, url, lineNumber } = node.callFrame
    const match = /\/(worker|shared|supervisor)\/(.+)$/.exec(url)
    const isOwn = match !== null && !url.includes('node_modules')
    const name = functionName === '' ? '(anonymous)' : functionName
    const own = isOwn ? `${match[1]}/${match[2]}:${lineNumber + 1} ${name}` : owner
    const file = url === '' ? '' : ` ${url.replace(/^.*\//, '')}`
    if (name !== '(idle)') places.set(id, isOwn ? own : `${own} > ${name}${file}`)
    for (const child of node.children ?? []) visit(child, own)
  }
  for (const node of nodes) if (node.callFrame.functionName === '(root)') visit(node.id, '')
  return places
}
