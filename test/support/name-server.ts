// A DNS server, on loopback unless a test says otherwise. It answers from a function, or never.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import type { Owner } from './owner.ts'

export interface NameServer {
  /** As a resolver takes it, such as `127.0.0.1:41234`. */
  address: string
  /** The names that were asked for, in order of arrival, once each. */
  names: Set<string>
}

const TYPE_A = 1
const TYPE_AAAA = 28
const HEADER_BYTES = 12

/** Starts a server that closes with the test. `answer` gives the addresses of a name, for the question about one
 * family of them; undefined sends no response at all. */
export async function startNameServer(
  t: Owner,
  answer: (name: string, family: 4 | 6) => readonly string[] | undefined,
  { host = '127.0.0.1', port = 0 } = {}
): Promise<NameServer> {
  const socket = createSocket('udp4')
  const names = new Set<string>()
  socket.on('message', (query, client) => {
    const { name, type, end } = readQuestion(query)
    names.add(name)
    const addresses = answer(name, type === TYPE_A ? 4 : 6)
    if (addresses !== undefined)
      socket.send(writeResponse(query.subarray(0, end), type, addresses), client.port, client.address)
  })
  socket.bind(port, host)
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return { address: `${host}:${socket.address().port}`, names }
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** The question again, with one record for each address of its type. */
function writeResponse(question: Buffer, type: number, addresses: readonly string[]): Buffer {
  const records = addresses
    .filter(address => type === (isIPv4(address) ? TYPE_A : TYPE_AAAA))
    .map(address => writeRecord(type, address))
  const head = Buffer.from(question)
  // A response with recursion, no error.
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(records.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, ...records])
}

function writeRecord(type: number, address: string): Buffer {
  const data = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : writeIpv6(address)
  const record = Buffer.alloc(12)
  // A pointer to the name in the question; class IN; a lifetime of one second.
  record.writeUInt16BE(0xc00c, 0)
  record.writeUInt16BE(type, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt32BE(1, 6)
  record.writeUInt16BE(data.length, 10)
  return Buffer.concat([record, data])
}

/** Takes the full form or one with `::`. */
function writeIpv6(address: string): Buffer {
  const [before = '', after = ''] = address.split('::')
  const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const tail = groupsOf(after)
  const head = groupsOf(before)
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  const data = Buffer.alloc(16)
  for (const [index, group] of [...head, ...zeros, ...tail].entries()) {
    data.writeUInt16BE(Number.parseInt(group, 16), 2 * index)
  }
  return data
}
