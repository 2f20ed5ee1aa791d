// Descriptors, disk space and the time (ops/guides/reliability.md).
import { resourceFaults } from '../../faults/resource-faults.ts'
import { testEntries } from '../../faults/test-entries.ts'

testEntries(resourceFaults)
