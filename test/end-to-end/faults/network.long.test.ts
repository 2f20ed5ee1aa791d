// Names, certificates, token servers and providers that fail (ops/guides/reliability.md).
import { networkFaults } from '../../faults/network-faults.ts'
import { testEntries } from '../../faults/test-entries.ts'

testEntries(networkFaults)
