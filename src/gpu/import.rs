//! Host memory as GPU buffers (VK_EXT_external_memory_host), so that frames need no copy.
//!
//! wgpu has no such import of its own: the device is opened with the extension here, and each buffer is made
//! with Vulkan and handed to wgpu, which owns it from then on.

use ash::vk;
use wgpu::hal::api::Vulkan;
use wgpu::hal::vulkan as hal;

use super::pages::{PAGE, Pages};

/// Usage of imported buffers: kernels read and write them.
const USAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

/// A device that can import host memory, if its adapter runs on Vulkan and has the extension.
///
/// # Errors
/// As [`wgpu::Adapter::request_device`]; `None` if the adapter cannot import.
pub fn open(
    adapter: &wgpu::Adapter,
    descriptor: &wgpu::DeviceDescriptor,
) -> Option<Result<(wgpu::Device, wgpu::Queue), wgpu::RequestDeviceError>> {
    if !can_import(adapter) {
        return None;
    }
    let extension = ash::ext::external_memory_host::NAME;
    // SAFETY: the hal adapter is only asked to open a device; nothing of it is destroyed.
    let adapter_hal = unsafe { adapter.as_hal::<Vulkan>() }?;
    // SAFETY: the callback adds one extension that the adapter supports, and removes nothing.
    let opened = unsafe {
        adapter_hal.open_with_callback(
            descriptor.required_features,
            &descriptor.required_limits,
            &descriptor.memory_hints,
            Some(Box::new(|arguments| arguments.extensions.push(extension))),
        )
    };
    // What goes wrong here goes wrong, and is told, when the device is asked for without the extension.
    let opened = opened.ok()?;
    // SAFETY: the device was opened just above from this adapter, with these features.
    Some(unsafe { adapter.create_device_from_hal::<Vulkan>(opened, descriptor) })
}

/// Whether the adapter runs on Vulkan and its devices can import pages of host memory.
pub fn can_import(adapter: &wgpu::Adapter) -> bool {
    // SAFETY: the hal adapter is only asked what it can do.
    let Some(adapter) = (unsafe { adapter.as_hal::<Vulkan>() }) else { return false };
    let extension = ash::ext::external_memory_host::NAME;
    adapter.physical_device_capabilities().supports_extension(extension) && alignment(&adapter) <= PAGE as u64
}

/// What address and length of imported memory have to be multiples of.
fn alignment(adapter: &hal::Adapter) -> u64 {
    let mut host = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut host);
    let instance = adapter.shared_instance().raw_instance();
    // SAFETY: the physical device belongs to this instance, and the chain of structures is well formed.
    unsafe { instance.get_physical_device_properties2(adapter.raw_physical_device(), &mut properties) };
    host.min_imported_host_pointer_alignment
}

/// A buffer over `pages`, for a device that [`open`] gave; `None` if the driver refuses.
pub fn import(device: &wgpu::Device, pages: &Pages) -> Option<wgpu::Buffer> {
    let (pointer, length) = pages.range();
    // SAFETY: the hal device is used to make objects, which are all handed to wgpu or destroyed below.
    let device_hal = unsafe { device.as_hal::<Vulkan>() }?;
    if !device_hal.enabled_device_extensions().contains(&ash::ext::external_memory_host::NAME) {
        return None;
    }
    let raw = device_hal.raw_device();
    let kind = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
    let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(kind);
    let usage =
        vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
    let create = vk::BufferCreateInfo::default().size(length as u64).usage(usage).push_next(&mut external);
    // SAFETY: the structure is well formed and the device live.
    let buffer = unsafe { raw.create_buffer(&create, None) }.ok()?;
    let Some(memory) = bind(&device_hal, buffer, pointer.as_ptr().cast(), length as u64) else {
        // SAFETY: the buffer was made above and is used by nobody.
        unsafe { raw.destroy_buffer(buffer, None) };
        return None;
    };
    // SAFETY: buffer and memory were made for each other above, and become wgpu's own.
    let buffer = unsafe { hal::Buffer::from_raw_managed(buffer, memory, 0, length as u64) };
    let descriptor = wgpu::BufferDescriptor {
        label: Some("autolevels.pages"),
        size: length as u64,
        usage: USAGE,
        mapped_at_creation: false,
    };
    // SAFETY: the buffer comes from this device, has this size and usage, and its bytes were initialized by the host.
    Some(unsafe { device.create_buffer_from_hal::<Vulkan>(buffer, &descriptor) })
}

/// Imports the memory at `pointer` and binds it to `buffer`; on failure nothing is left behind.
fn bind(
    device: &hal::Device,
    buffer: vk::Buffer,
    pointer: *mut std::ffi::c_void,
    length: u64,
) -> Option<vk::DeviceMemory> {
    let raw = device.raw_device();
    let instance = device.shared_instance().raw_instance();
    let kind = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
    let extension = ash::ext::external_memory_host::Device::new(instance, raw);
    let mut properties = vk::MemoryHostPointerPropertiesEXT::default();
    // SAFETY: the pointer is that of live, page-aligned memory of this process.
    let told = unsafe {
        (extension.fp().get_memory_host_pointer_properties_ext)(raw.handle(), kind, pointer, &mut properties)
    };
    told.result().ok()?;
    // SAFETY: the buffer is live.
    let required = unsafe { raw.get_buffer_memory_requirements(buffer) };
    // SAFETY: the physical device belongs to this instance.
    let memory = unsafe { instance.get_physical_device_memory_properties(device.raw_physical_device()) };
    let fits = properties.memory_type_bits & required.memory_type_bits;
    let coherent = |kind: &&u32| {
        let flags = memory.memory_types[**kind as usize].property_flags;
        flags.contains(vk::MemoryPropertyFlags::HOST_COHERENT | vk::MemoryPropertyFlags::HOST_VISIBLE)
    };
    let kinds: Vec<u32> = (0..memory.memory_type_count).filter(|kind| fits & (1 << kind) != 0).collect();
    // Without coherence the host would have to flush, which wgpu does not do for memory that it did not map.
    let chosen = *kinds.iter().find(coherent)?;
    let mut host = vk::ImportMemoryHostPointerInfoEXT::default().handle_type(kind).host_pointer(pointer);
    let allocate =
        vk::MemoryAllocateInfo::default().allocation_size(length).memory_type_index(chosen).push_next(&mut host);
    if required.size > length {
        return None;
    }
    // SAFETY: pointer and length are multiples of the import alignment, and the caller keeps the memory until the
    // buffer is gone.
    let imported = unsafe { raw.allocate_memory(&allocate, None) }.ok()?;
    // SAFETY: both were just made, and the memory is as large as the buffer needs.
    if unsafe { raw.bind_buffer_memory(buffer, imported, 0) }.is_err() {
        // SAFETY: the memory is bound to nothing.
        unsafe { raw.free_memory(imported, None) };
        return None;
    }
    Some(imported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::pages::PageMemory;

    #[test]
    fn kernels_reach_host_memory_in_place() {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapters = pollster(instance.enumerate_adapters(wgpu::Backends::VULKAN));
        let mut tried = 0;
        for adapter in adapters {
            let descriptor = wgpu::DeviceDescriptor::default();
            let Some(opened) = open(&adapter, &descriptor) else { continue };
            let (device, queue) = opened.unwrap();
            let mut from = PageMemory::new(PAGE).unwrap();
            from.as_mut().fill(7);
            let to = PageMemory::new(PAGE).unwrap();
            let buffers: Vec<wgpu::Buffer> = [&from, &to]
                .map(|memory| Pages::find(memory.as_ref()).unwrap().0)
                .iter()
                .map(|pages| import(&device, pages).unwrap())
                .collect();
            let mut encoder = device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(&buffers[0], 0, &buffers[1], 0, PAGE as u64);
            queue.submit([encoder.finish()]);
            device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            assert_eq!(to.as_ref(), vec![7; PAGE]);
            tried += 1;
        }
        let skipped = std::env::var("AUTOLEVELS_TEST_GPU").is_ok_and(|value| value == "skip");
        assert!(tried > 0 || skipped, "no adapter here imports host memory (AUTOLEVELS_TEST_GPU=skip)");
    }

    fn pollster<F: Future>(future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        loop {
            if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
        }
    }
}
